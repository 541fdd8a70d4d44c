"""A series of patches in the shape of large changes of TCP: 16 files below net/ and include/, with a field more in the control block of a
packet, a larger private area of congestion controls, and an operation more, which BBR uses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.support.small_linux import commit, git

# Per patch: its subject, and (file, text, what replaces it).
Edit = tuple[str, str, str]
SERIES: Sequence[tuple[str, Sequence[Edit]]] = (
    (
        "tcp: packets in flight at the time of sending",
        (
            ("include/net/tcp.h", "\t\t\t      unused:11;\n", "\t\t\t      in_flight:11;\n"),
            (
                "include/net/tcp.h",
                "\tbool is_app_limited;\t/* is sample",
                "\tu32  tx_in_flight;\n\tbool is_app_limited;\t/* is sample",
            ),
            (
                "net/ipv4/tcp_rate.c",
                "\tTCP_SKB_CB(skb)->tx.is_app_limited\t=",
                "\tTCP_SKB_CB(skb)->tx.in_flight\t\t= min_t(u32, tcp_packets_in_flight(tp), 2047);\n\tTCP_SKB_CB(skb)->tx.is_app_limited\t=",
            ),
            (
                "net/ipv4/tcp_rate.c",
                "\t\trs->is_app_limited   =",
                "\t\trs->tx_in_flight     = scb->tx.in_flight;\n\t\trs->is_app_limited   =",
            ),
        ),
    ),
    (
        "tcp: a larger private area of congestion controls",
        (("include/net/inet_connection_sock.h", "icsk_ca_priv[104 /", "icsk_ca_priv[144 /"),),
    ),
    (
        "tcp: an operation for packets that are marked lost",
        (
            (
                "include/net/tcp.h",
                "\t/* cleanup private data  (optional) */\n",
                "\t/* a packet is marked lost (optional) */\n\tvoid (*skb_marked_lost)(struct sock *sk, const struct sk_buff *skb);\n\t/* cleanup private data  (optional) */\n",
            ),
            ("include/linux/tcp.h", "\tstruct saved_syn *saved_syn;\n};", "\tstruct saved_syn *saved_syn;\n\tu32 marked_lost;\n};"),
            (
                "net/ipv4/tcp_input.c",
                "\t\tTCP_SKB_CB(skb)->sacked |= TCPCB_LOST;\n\t\ttcp_notify_skb_loss_event(tp, skb);\n",
                "\t\tTCP_SKB_CB(skb)->sacked |= TCPCB_LOST;\n\t\ttcp_notify_skb_loss_event(tp, skb);\n\t\ttp->marked_lost++;\n\t\tif (inet_csk(sk)->icsk_ca_ops->skb_marked_lost)\n\t\t\tinet_csk(sk)->icsk_ca_ops->skb_marked_lost(sk, skb);\n",
            ),
            ("net/ipv4/tcp.c", "\ttp->delivered_ce = 0;\n", "\ttp->delivered_ce = 0;\n\ttp->marked_lost = 0;\n"),
            ("net/ipv4/tcp_minisocks.c", "\tnewtp->pred_flags = 0;\n", "\tnewtp->pred_flags = 0;\n\tnewtp->marked_lost = 0;\n"),
            ("net/ipv4/tcp_output.c", "\ttp->rcv_wup = tp->rcv_nxt;\n\tWRITE", "\ttp->marked_lost = 0;\n\ttp->rcv_wup = tp->rcv_nxt;\n\tWRITE"),
            ("net/ipv4/tcp_timer.c", "\ttp->total_rto++;\n", "\ttp->total_rto++;\n\ttp->marked_lost++;\n"),
            ("net/ipv4/tcp_recovery.c", "\tif (!tp->reord_seen) {\n", "\tif (!tp->reord_seen && !tp->marked_lost) {\n"),
            ("net/ipv4/tcp_cong.c", "\tmemset(icsk->icsk_ca_priv, 0, sizeof(icsk->icsk_ca_priv));\n", "\ttcp_sk(sk)->marked_lost = 0;\n\tmemset(icsk->icsk_ca_priv, 0, sizeof(icsk->icsk_ca_priv));\n"),
            ("net/ipv4/tcp_westwood.c", "\tw->bk = 0;\n", "\ttcp_sk(sk)->marked_lost = 0;\n\tw->bk = 0;\n"),
            ("net/ipv4/tcp_dctcp.c", "\t\tca->loss_cwnd = 0;\n", "\t\ttcp_sk(sk)->marked_lost = 0;\n\t\tca->loss_cwnd = 0;\n"),
            ("net/ipv4/tcp_cubic.c", "static inline void bictcp_reset(struct bictcp *ca)\n", "/* Without the operation skb_marked_lost. */\nstatic inline void bictcp_reset(struct bictcp *ca)\n"),
        ),
    ),
    (
        "tcp_bbr: a smaller window after lost packets",
        (
            ("net/ipv4/tcp_bbr.c", "\t\tunused_c:6;\n};", "\t\tunused_c:6;\n\tu32\tlost_in_flight[8];\t/* in flight when each was sent */\n\tu32\tlost;\n};"),
            (
                "net/ipv4/tcp_bbr.c",
                "static void bbr_set_cwnd(struct sock *sk,",
                "static void bbr_skb_marked_lost(struct sock *sk, const struct sk_buff *skb)\n{\n\tstruct bbr *bbr = inet_csk_ca(sk);\n\n\tbbr->lost_in_flight[bbr->lost++ % 8] = TCP_SKB_CB(skb)->tx.in_flight;\n}\n\nstatic void bbr_set_cwnd(struct sock *sk,",
            ),
            (
                "net/ipv4/tcp_bbr.c",
                "\ttarget_cwnd = bbr_bdp(sk, bw, gain);\n\n\t/* Increment",
                "\ttarget_cwnd = bbr_bdp(sk, bw, gain);\n\tif (bbr->lost && bbr->lost_in_flight[0])\n\t\ttarget_cwnd -= target_cwnd >> 2;\n\n\t/* Increment",
            ),
            ("net/ipv4/tcp_bbr.c", "\t.ssthresh\t= bbr_ssthresh,\n", "\t.ssthresh\t= bbr_ssthresh,\n\t.skb_marked_lost = bbr_skb_marked_lost,\n"),
            ("include/uapi/linux/inet_diag.h", "\t__u32\tbbr_cwnd_gain;", "\t/* shifted left 8 bits */\n\t__u32\tbbr_cwnd_gain;"),
        ),
    ),
)  # fmt: skip


def write_series(linux: Path, folder: Path) -> list[Path]:
    """The series as files of `git format-patch`; the repository is as before."""
    for subject, edits in SERIES:
        for name, before, after in edits:
            file = linux / name
            text = file.read_text()
            assert before in text, (name, before)
            file.write_text(text.replace(before, after, 1))
        commit(linux, subject)
    git(linux, "format-patch", "--quiet", "--output-directory", str(folder), f"HEAD~{len(SERIES)}")
    git(linux, "reset", "--quiet", "--hard", f"HEAD~{len(SERIES)}")
    return sorted(folder.glob("*.patch"))
