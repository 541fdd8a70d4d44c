# A program's own layout of one of the kernel's structures, which libbpf would relocate: the kernel's is there, so the lines become empty.
function give(keep,  i) {
	for (i = 1; i <= held; i++)
		print keep || line[i] ~ /^[ \t]*#/ ? line[i] : ""
	held = 0
}
/#[ \t]*pragma[ \t]+clang[ \t]+attribute[ \t]+push.*preserve_access_index/ { every = 1; print ""; next }
/#[ \t]*pragma[ \t]+clang[ \t]+attribute[ \t]+pop/ { every = 0; print ""; next }
!held && /^(struct|union)[ \t]+[A-Za-z0-9_]+[ \t]*\{/ {
	line[held = 1] = $0
	if ($0 ~ /\}.*;/)
		give(!every && $0 !~ /preserve_access_index/)
	next
}
held {
	line[++held] = $0
	if ($0 ~ /^\}/)
		give(!every && $0 !~ /preserve_access_index/)
	next
}
{ print }
END { give(1) }
