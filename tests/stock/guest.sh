#!/bin/busybox sh
# PID 1 of the stock kernel's guest: every module of /modules carries bytes over an emulated path, and is unloaded again:
# congestion controls first, then those that are BPF objects, then kinds of queue.
#
#	sender 10.0.1.1 --- 10.0.1.2 router 10.0.2.2 --- 10.0.2.1 receiver
#	                           <- 10 ms          10 ms, 100 Mbit/s, 500 kB of queue ->
#
# /modules/load-order lists the kernel's own modules that this needs; tcp_NAME.parameters next to a module are for insmod.
# Each check writes a line `check MODULE NAME ok|failed DETAIL` to the second serial port: a check without a line has failed.
# The first serial port is the kernel's console. Delay and rate are the router's, never on a sender's own device, where TCP
# would feel the queue before the path does.

export PATH=/sbin:/bin # iproute2 before busybox's applets of the same names
/bin/busybox mkdir -p /proc /sys /dev /run /tmp
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs devtmpfs /dev
/bin/busybox mount -t tmpfs tmpfs /run
/bin/busybox --install -s /bin
exec >/dev/ttyS0 2>&1 3>/dev/ttyS1

bytes=10000000
port=5001

report() { # NAME ok|failed [DETAIL...]
	name=$1 verdict=$2
	shift 2
	echo "check $module $name $verdict" $* >&3
}

ip() { /sbin/ip "$@"; }

in_ns() { ip netns exec "$@"; }

path() {
	for ns in sender router receiver; do
		ip netns add $ns && in_ns $ns ip link set lo up || return
	done
	for end in sender receiver; do
		ip link add out netns $end type veth peer name to_$end netns router || return
		# A packet is a packet: without super-packets, a loss is of one segment.
		in_ns $end ip link set out gso_max_segs 1 up || return
		in_ns router ip link set to_$end up || return
	done
	in_ns sender ip address add 10.0.1.1/24 dev out &&
		in_ns router ip address add 10.0.1.2/24 dev to_sender &&
		in_ns router ip address add 10.0.2.2/24 dev to_receiver &&
		in_ns receiver ip address add 10.0.2.1/24 dev out &&
		in_ns sender ip route add default via 10.0.1.2 &&
		in_ns receiver ip route add default via 10.0.2.2 &&
		in_ns router sysctl -q -w net.ipv4.ip_forward=1 &&
		in_ns sender sysctl -q -w net.ipv4.tcp_no_metrics_save=1 &&
		in_ns router tc qdisc add dev to_sender root netem delay 10ms limit 10000 &&
		in_ns router tc qdisc add dev to_receiver root handle 1: netem delay 10ms limit 10000 &&
		in_ns router tc qdisc add dev to_receiver parent 1:1 handle 2: tbf rate 100mbit burst 16kb limit 500000
}

lose() { in_ns router tc qdisc change dev to_receiver root handle 1: netem delay 10ms limit 10000 loss "$1"; }

# Starts a transfer, with the congestion control as a socket option where one is named, and looks at its socket while bytes
# flow: SEEN, the line of ss that names the module.
start() { # [CONTROL [RATE]]
	seen=''
	: >/tmp/sent
	in_ns receiver transfer receive $port >/tmp/received || return
	in_ns sender transfer send 10.0.2.1 $port $bytes "$@" >/tmp/sent 2>&1 &
	sender=$!
	while [ -z "$seen" ] && kill -0 $sender 2>/dev/null; do
		seen=$(in_ns sender ss -tinH state established "dport = :$port" | grep -w "$module" | grep bytes_acked)
	done
}

# Waits for its end, and reports the check NAME: what was received, and what the socket's congestion control was.
finish() {
	wait $sender
	if [ "$(cat /tmp/received)" = "$bytes intact" ] && [ "$(cat /tmp/sent)" = "$module" ]; then
		report "$1" ok
	else
		report "$1" failed "received: $(cat /tmp/received); the sender printed: $(cat /tmp/sent)"
	fi
}

references() { cat "/sys/module/tcp_$module/refcnt"; }

available() { grep -qw "$module" /proc/sys/net/ipv4/tcp_available_congestion_control; }

load() {
	output=$(insmod "/modules/tcp_$module.ko" $(cat "/modules/tcp_$module.parameters" 2>/dev/null) 2>&1)
	if available; then
		report loads ok
	else
		report loads failed "$output; available: $(cat /proc/sys/net/ipv4/tcp_available_congestion_control)"
		return 1
	fi
}

allow() {
	may=$(transfer may "$module")
	sysctl -q -w net.ipv4.tcp_allowed_congestion_control="reno $module"
	might=$(transfer may "$module")
	if [ "$may $might" = "no yes" ]; then
		report allowed ok
	else
		report allowed failed "may a user without privileges choose it? before it was allowed: $may; after: $might"
	fi
}

# Below the first network namespace only what is allowed can be the default; allow() has seen to it.
carry() {
	in_ns sender sysctl -q -w net.ipv4.tcp_congestion_control="$module"
	start
	[ -n "$seen" ] && report named ok || report named failed "ss did not name it while bytes flowed"
	finish carries
	in_ns sender sysctl -q -w net.ipv4.tcp_congestion_control=reno
}

carry_with_loss() {
	lose 0.1%
	start "$module"
	count=$(references)
	output=$(rmmod "tcp_$module" 2>&1) && output=removed
	if [ -n "$seen" ] && [ "$count" = 1 ] && available && [ "$output" != removed ]; then
		report in-use ok "$output"
	else
		report in-use failed "with an open socket it had $count references; rmmod printed: $output; ss: $seen"
	fi
	finish carries-with-loss
	lose 0%
}

unload() {
	# The last reference goes when the kernel has destroyed the socket.
	tries=0
	while [ "$(references)" != 0 ] && [ $((tries += 1)) -lt 100 ]; do usleep 20000; done
	output=$(rmmod "tcp_$module" 2>&1)
	if [ ! -d "/sys/module/tcp_$module" ] && ! available; then
		report unloads ok
	else
		report unloads failed "$output; references: $(references)"
	fi
}

# ---- congestion controls in BPF objects, which libbpf loads; it looks for the kernel's configuration in /boot ----

bpf_load() {
	output=$(bpftool struct_ops register "/modules/$module.bpf.o" 2>&1)
	if available; then
		report loads ok $(bpftool struct_ops list 2>&1)
	else
		report loads failed $(echo "$output" | tail -n 30)
		return 1
	fi
}

bpf_carry_with_loss() {
	lose 0.1%
	start "$module"
	finish carries-with-loss
	lose 0%
}

# A required rate of 20 Mbit/s: its window at 20 ms is 35 segments of 1448 bytes, and 10 MB take 4 s. Without the law they take 1 s. The law
# gives the least window as ssthresh; on a slow machine the shortest round trip is a little longer than the path's.
bpf_keep_rate() {
	begun=$(cut -d. -f1 /proc/uptime)
	start "$module" 2500000
	usleep 1500000
	seen=$(in_ns sender ss -tinH state established "dport = :$port")
	finish carries-its-rate
	took=$(($(cut -d. -f1 /proc/uptime) - begun))
	base=$(echo "$seen" | grep -o ' ssthresh:[0-9]*' | cut -d: -f2)
	if [ $took -ge 3 ] && [ "${base:-0}" -ge 35 ] && [ "$base" -le 70 ]; then
		report keeps-rate ok "$took s, a least window of $base segments"
	else
		report keeps-rate failed "10 MB at 2.5 MB/s took $took s; ss: $seen"
	fi
}

bpf_unload() {
	output=$(bpftool struct_ops unregister name "$module" 2>&1)
	tries=0
	while bpftool struct_ops list 2>&1 | grep -q . && [ $((tries += 1)) -lt 100 ]; do usleep 20000; done
	if ! available && [ -z "$(bpftool struct_ops list 2>&1)" ]; then
		report unloads ok
	else
		report unloads failed "$output; still there: $(bpftool struct_ops list 2>&1)"
	fi
}

# ---- kinds of queue: a channel of 1 Mbit/s between sender and router, whose ends are in two namespaces ----

queue_add() { in_ns "$1" tc qdisc add dev "$2" ${3:-root} "$module" 2>&1; }

queue_load() {
	output=$(insmod "/modules/sch_$module.ko" 2>&1)
	if [ -d "/sys/module/sch_$module" ]; then
		report loads ok
	else
		report loads failed "$output"
		return 1
	fi
}

queue_references() { cat "/sys/module/sch_$module/refcnt"; }

# One transmitter at the root of a device, one below netem.
queue_share() {
	output=$(queue_add sender out; in_ns router tc qdisc del dev to_sender root
		in_ns router tc qdisc add dev to_sender root handle 1: netem delay 10ms limit 10000 &&
			queue_add router to_sender 'parent 1:1')
	if [ "$(queue_references)" = 2 ] && in_ns sender tc qdisc show dev out | grep -qw "$module"; then
		report shared ok
	else
		report shared failed "$output; references: $(queue_references)"
	fi
	output=$(rmmod "sch_$module" 2>&1) && output=removed
	[ "$output" != removed ] && report in-use ok "$output" || report in-use failed "rmmod succeeded with two in use"
}

# Everything sent arrives, at the channel's pace.
queue_carry() {
	in_ns receiver transfer receive $port >/tmp/received
	begun=$(cut -d. -f1 /proc/uptime)
	sent=$(in_ns sender transfer send 10.0.2.1 $port 200000 2>&1)
	took=$(($(cut -d. -f1 /proc/uptime) - begun))
	# 200 kB take 2 s at 0.8 Mbit/s, the most that is left of 1 Mbit/s.
	if [ "$(cat /tmp/received)" = "200000 intact" ] && [ $took -ge 1 ]; then
		report carries ok "$took s"
	else
		report carries failed "received: $(cat /tmp/received) after $took s; the sender printed: $sent"
	fi
}

# The queues are removed while frames wait in them and one is in the air; the connection survives.
queue_leave() {
	in_ns receiver transfer receive $port >/tmp/received
	in_ns sender transfer send 10.0.2.1 $port 1000000 >/tmp/sent 2>&1 &
	sender=$!
	# On a busy machine the sender may still be starting, or wait after a loss.
	for _ in $(seq 300); do
		usleep 100000
		backlog=$(in_ns sender tc -s qdisc show dev out | grep -o 'backlog [^ ]* [0-9]*p')
		case $backlog in
		*' 0p' | '') ;;
		*) break ;;
		esac
	done
	in_ns sender tc qdisc del dev out root
	in_ns router tc qdisc del dev to_sender root
	in_ns router tc qdisc add dev to_sender root netem delay 10ms limit 10000
	wait $sender
	case $backlog in
	*' 0p' | '') report leaves failed "nothing waited when it was removed: $backlog" ;;
	*) [ "$(cat /tmp/received)" = "1000000 intact" ] && report leaves ok "$backlog" ||
		report leaves failed "received: $(cat /tmp/received); the sender printed: $(cat /tmp/sent)" ;;
	esac
}

# The last reference disappears some time after the last queue; afterwards the kernel does not know the kind.
queue_unload() {
	tries=0
	while [ "$(queue_references)" != 0 ] && [ $((tries += 1)) -lt 100 ]; do usleep 20000; done
	output=$(rmmod "sch_$module" 2>&1)
	if [ ! -d "/sys/module/sch_$module" ] && queue_add sender out | grep -q .; then
		report unloads ok
	else
		report unloads failed "$output; references: $(queue_references)"
	fi
}

# The kernel's taints, except those of out-of-tree and unsigned modules.
taints() { echo $(($(cat /proc/sys/kernel/tainted) & ~(1 << 12 | 1 << 13))); }

# New warnings in the kernel's log and new taints since this module's turn began.
log() {
	taint=$(($(taints) & ~tainted))
	loud=$(dmesg | sed "1,/stock: turn of $module\$/d" | grep -vE \
		'loading out-of-tree module taints kernel|module verification failed: signature and/or required key missing' |
		grep -E 'WARNING|BUG|Oops|Call Trace|[Tt]aint|INFO:|refcount_t|UBSAN|general protection|unregister_netdevice' | head -n 3)
	if [ $taint = 0 ] && [ -z "$loud" ]; then
		report quiet ok
	else
		report quiet failed "taints gained: $taint; $loud"
	fi
}

module=path
if output=$(for needed in $(cat /modules/load-order); do insmod "/modules/kernel/$needed" || exit; done && path 2>&1); then
	report laid ok "$(uname -r)"
	for file in /modules/tcp_*.ko; do
		module=${file#/modules/tcp_}
		module=${module%.ko}
		echo "stock: turn of $module" >/dev/kmsg
		tainted=$(taints)
		load && { allow; carry; carry_with_loss; unload; }
		log
	done
	for file in /modules/*.bpf.o; do
		module=${file#/modules/}
		module=${module%.bpf.o}
		echo "stock: turn of $module" >/dev/kmsg
		tainted=$(taints)
		bpf_load && { allow; carry; bpf_carry_with_loss; [ $module != bpf_apptcp ] || bpf_keep_rate; bpf_unload; }
		log
	done
	for file in /modules/sch_*.ko; do
		module=${file#/modules/sch_}
		module=${module%.ko}
		echo "stock: turn of $module" >/dev/kmsg
		tainted=$(taints)
		queue_load && { queue_share; queue_carry; queue_leave; queue_unload; }
		log
	done
else
	report laid failed "$output"
fi
sync
poweroff -f
