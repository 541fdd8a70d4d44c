/* SPDX-License-Identifier: GPL-2.0 */
struct sock;
struct rate_sample;

void rated_init(struct sock *sk);
void rated_control(struct sock *sk, const struct rate_sample *rs);
