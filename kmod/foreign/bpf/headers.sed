# program.h takes the place of these headers, and the kernel's of the C library's. `const volatile` variables become parameters.
s,^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]*/)?(vmlinux|bpf_helpers|bpf_helper_defs|bpf_tracing|bpf_core_read|bpf_endian|bpf_tcp_helpers|bpf_tracing_net|bpf_misc|bpf_experimental|bpf_compiler|bpf_kfuncs)\.h[>"].*,,
s,^[ \t]*#[ \t]*include[ \t]*<(assert|endian|errno|inttypes|limits|stdbool|stddef|stdint|stdio|stdlib|string|time|unistd|(arpa|bits|net|netinet|sys)/[a-z_]+)\.h>.*,,
s,^([ \t]*(static[ \t]+|__hidden[ \t]+)?)(const[ \t]+volatile|volatile[ \t]+const)\b,\1volatile,
