"""The compiler's messages in plain words, as the four kernels print them."""

from __future__ import annotations

import time

import pytest

from longhaul.orchestrator.modules.diagnosis import Diagnosis, diagnose

AREA = "its private area is larger than the 104 bytes that the kernel keeps for a connection (ICSK_CA_PRIV_SIZE)"
GPL = 'the functions of TCP are for modules with MODULE_LICENSE("GPL")'


@pytest.mark.parametrize(
    ("log", "place", "reason"),
    [
        (
            "tcp_x.c:33:10: error: ‘struct tcp_congestion_ops’ has no member named ‘rtt_sample’\nx.c:1:1: error: later",
            "tcp_x.c:33",
            "it sets the hook rtt_sample, which Linux 6.12 does not have; Linux had it until 2.6.22; pkts_acked() has the round trip now",
        ),
        (
            "law/tcp_x.c:9:2: error: ‘const struct tcp_sock’ has no member named ‘srtt’; did you mean ‘srtt_us’?",
            "tcp_x.c:9",
            "it uses the field srtt of struct tcp_sock, which Linux 6.12 does not have",
        ),
        (
            "tcp_x.c:9:2: error: ‘struct tcp_sock’ {aka ‘struct y’} has no member named ‘srtt’",
            "tcp_x.c:9",
            "it uses the field srtt of struct tcp_sock, which Linux 6.12 does not have",
        ),
        (
            "tcp_x.c:3:2: error: implicit declaration of function ‘foo’; did you mean ‘fo’? [-Werror=implicit-function-declaration]",
            "tcp_x.c:3",
            "it calls foo(), which Linux 6.12 does not have",
        ),
        (
            "tcp_x.c:2:10: fatal error: net/no.h: No such file or directory",
            "tcp_x.c:2",
            "it includes net/no.h, which neither its folder nor Linux 6.12 has",
        ),
        ("tcp_x.c:2:10: error: ‘HUNDRED’ undeclared (first use in this function)", "tcp_x.c:2", "it uses HUNDRED, which neither it nor Linux 6.12 declares"),
        ("tcp_x.c:8:6: error: too few arguments to function ‘tcp_slow_start’", "tcp_x.c:8", "it calls tcp_slow_start() with other arguments than Linux 6.12 has for it"),
        ("tcp_x.c:13: error: #error longhaul refuses it: f() has a meaning", "tcp_x.c:13", "f() has a meaning"),
        ("tcp_x.c:13:2: error: #error \"not for this kernel\"", "tcp_x.c:13", "error: #error \"not for this kernel\""),
        ("tcp_x.c:15:3: error: static assertion failed: \"ICSK_CA_PRIV_SIZE\"", "tcp_x.c:15", AREA),
        (
            ("linux-headers/include/linux/compiler_types.h:543:45: error: call to ‘__compiletime_assert_7’ declared with attribute error: "
            "BUILD_BUG_ON failed: sizeof(struct x) > ICSK_CA_PRIV_SIZE\n"
            "linux-headers/include/linux/build_bug.h:50:9: note: in expansion of macro ‘BUILD_BUG_ON_MSG’\n"
            "tcp_x.c:15:9: note: in expansion of macro ‘BUILD_BUG_ON’\ntcp_x.c:90:1: error: later"),
            "tcp_x.c:15",
            AREA,
        ),
        # Of another macro: not the area.
        (
            ("linux-headers/include/linux/compiler_types.h:543:45: error: BUILD_BUG_ON failed: 1\n"
            "tcp_x.c:15:9: note: in expansion of macro ‘BUILD_BUG_ON’\ntcp_x.c:90:1: error: ICSK_CA_PRIV_SIZE"),
            "tcp_x.c:15",
            "error: BUILD_BUG_ON failed: 1",
        ),
        ('ERROR: modpost: "foo" [tcp_x.ko] undefined!', "", "it calls foo(), which none of its files has, and Linux 6.12 does not offer to modules"),
        ("ERROR: modpost: [tcp_x.ko] symbol 'foo' undefined!", "", "it calls foo(), which none of its files has, and Linux 6.12 does not offer to modules"),
        ("ERROR: modpost: missing MODULE_LICENSE() in tcp_x.o", "", f"it has no MODULE_LICENSE(); {GPL}"),
        ("ERROR: modpost: tcp_x.ko: missing MODULE_LICENSE()", "", f"it has no MODULE_LICENSE(); {GPL}"),
        ("FATAL: modpost: GPL-incompatible module tcp_x.ko uses GPL-only symbol 'tcp_slow_start'", "", f"its license is not the GPL, and {GPL}"),
        ("ERROR: modpost: tcp_x.ko: GPL-incompatible module uses GPL-only symbol 'tcp_slow_start'", "", f"its license is not the GPL, and {GPL}"),
        (
            "make[2]: *** No rule to make target 'tcp_gone.o', needed by 'tcp_x.o'.  Stop.",
            "",
            "its Makefile lists tcp_gone.o, and its folder has no tcp_gone.c",
        ),
        ("\nERROR: it was not done after 60 s\n", "", "it was not done after 60 s"),
        ("Makefile:3: *** missing separator.  Stop.", "", "missing separator.  Stop."),
        ("tcp_x.c: Assembler messages:\ntcp_x.c:2: Error: file not found: /x", "tcp_x.c:2", "error: file not found: /x"),
        ("", "", "the compiler made no object and printed no error"),
    ],
)  # fmt: skip
def test_the_first_error_in_plain_words(log: str, place: str, reason: str) -> None:
    assert diagnose(log, "6.12") == Diagnosis(place, reason, reason == AREA)


@pytest.mark.parametrize(
    "log",
    [
        "a" * 2**18,
        "a.c:1: error: " + "'struct x' {" * 2**14,
        "a.c:1: error: " + "a" * 2**18,
        "linux-headers/a.h:1: error: x\n" * 2**13,
        "linux-headers/a.h:1: error: x\n" + "a.c:1: note: in expansion of macro\n" * 2**12,
        "ERROR: modpost: " + "'a" * 2**17,
        ": *** " * 2**15,
        "No rule to make target '" * 2**13,
        "a" * 200 + (":1" * 100 + "\n") * 2**10,
    ],
    ids=range(9),
)
def test_hostile_messages_are_read_in_time_that_grows_with_their_length(log: str) -> None:
    begun = time.process_time()
    assert len(str(diagnose(log, "6.12"))) < 700
    assert time.process_time() - begun < 2
