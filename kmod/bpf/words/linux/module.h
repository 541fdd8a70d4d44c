/* kernel_words.h has what tcp_apptcp.c needs of it. */
