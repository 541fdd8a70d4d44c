# What bash reads first in `longhaul shell`: the commands that let the virtual clock of the guest run, and the prompt.
#
# The clock stands while the prompt waits for input (kmod/lh_shell.c). A line of /proc/lh_shell has: the time and the end of the run,
# the time that programs have let pass since the last moment, the packets that they have sent since then, and what the last moment
# was. /run/longhaul/flows has a line for each flow: its name, number and port.

_clock=/proc/lh_shell
declare -A _digits=([ns]=0 [us]=3 [ms]=6 [s]=9)

help() {
    cat <<'END'
The virtual clock stands while this prompt waits. A program that waits (ping, sleep) lets it run until it is done.

  step 100ms           let 100 ms go by
  until 12s            continue to an instant of the run
  until drop           ... to the next lost packet of a queue that the trace follows
  until retransmission ... to the next packet that is sent again
  until recovery       ... to the next ACK of a sender in recovery; timeout: after one
  until cwnd<10        ... to the next ACK with such a value: cwnd ssthresh rtt srtt inflight retrans lost; < <= == >= >
  until cwnd<10 FLOW   ... of this flow alone; the same for the conditions above
  until end            ... to the last millisecond of the run
  on HOST COMMAND      run a command on another host or switch
  moment               the time, and what the last moment was
  finish               leave the shell; the run continues to its end and is measured
  exit                 end the guest

ss, tc, ip, ping, traceroute, tcpdump and all other programs of this machine are there if they are installed; hosts have names.
For bash's own `until`, write `while !`; for its help, `builtin help`.
END
}

_refuse() {
    printf 'longhaul: %s\n' "$*" >&2
    return 2
}

# A time, as in "100 ms" or 1.5s, as nanoseconds in $_ns.
_read_time() {
    [[ $1 =~ ^([0-9]+)(\.([0-9]+))?\ *(ns|us|ms|s)$ ]] || return
    local digits=${_digits[${BASH_REMATCH[4]}]} whole=${BASH_REMATCH[1]} fraction=${BASH_REMATCH[3]}
    fraction=${fraction:0:digits}
    while [ ${#fraction} -lt "$digits" ]; do fraction+=0; done
    [ $((${#whole} + digits)) -le 18 ] && _ns=$((10#$whole$fraction))
}

# Nanoseconds as seconds, in $_text.
_write_time() {
    printf -v _text '%d.%09d' $(($1 / 1000000000)) $(($1 % 1000000000))
    _text="${_text%"${_text##*[!0]}"}"
    _text="${_text%.} s"
}

# The number or the port of a flow by its name, in $_found; 0 and success without a name.
_find_flow() {
    local name number port
    _found=0
    [ -z "$1" ] && return
    while read -r name number port; do
        if [ "$name" = "$1" ]; then
            [ "$2" = port ] && _found=$port || _found=$((number + 1))
            [ "$_found" != 0 ] || _refuse "connections of $1 have no port of its own, so its packets look like those of others"
            return
        fi
    done </run/longhaul/flows
    _refuse "the run has no flow $1; its flows: $(cut -d' ' -f1 /run/longhaul/flows | head -20 | paste -sd' ')"
}

# A condition as the module reads it, in $_moment.
_read_condition() {
    local text=$1 word rest value
    text="${text#"${text%%[![:space:]]*}"}"
    text="${text%"${text##*[![:space:]]}"}"
    read -r word rest <<<"$text"
    if _read_time "$text"; then
        _moment="time $_ns"
    elif [ "$text" = end ]; then
        _moment="time 18446744073709551615"
    elif [ "$word" = drop ]; then
        _find_flow "$rest" port && _moment="drop $_found"
    elif [ "$word" = retransmission ]; then
        _find_flow "$rest" && _moment="retransmission $_found"
    elif [ "$word" = recovery ] || [ "$word" = timeout ]; then
        _find_flow "$rest" && { [ "$word" = recovery ] && _moment="state == 3 $_found" || _moment="state == 4 $_found"; }
    elif [[ $text =~ ^(cwnd|ssthresh|rtt|srtt|inflight|retrans|lost)\ *(<=|>=|==|=|<|>)\ *([^ ]+(\ (ns|us|ms|s))?)(\ +(.+))?$ ]]; then
        local field=${BASH_REMATCH[1]} comparison=${BASH_REMATCH[2]} flow=${BASH_REMATCH[7]}
        value=${BASH_REMATCH[3]}
        [ "$comparison" = '=' ] && comparison='=='
        case $field in
            rtt | srtt)
                _read_time "$value" || { _refuse "$field is compared with a time, as in until $field>100ms"; return; }
                field+=_us value=$((_ns / 1000))
                ;;
            *) [[ $value =~ ^[0-9]{1,18}$ ]] || { _refuse "$field is compared with a whole number, as in until $field<10"; return; } ;;
        esac
        _find_flow "$flow" && _moment="$field $comparison $((10#$value)) $_found"
    else
        _refuse "until '$text' is no condition; help lists them"
    fi
}

_name_moment() {
    local kind=$1 port name number its
    case $kind in
        drop)
            while read -r name number its; do
                for port in "$5" "$6"; do [ "$port" = "$its" ] && echo "lost a packet of $name at $3" && return; done
            done </run/longhaul/flows
            echo "lost a packet at $3, ports $5 and $6"
            ;;
        retransmission) echo "$(_flow_name "$3") sends a packet again" ;;
        state) [ "$2" = 3 ] && echo "$(_flow_name "$4") is in recovery" || echo "$(_flow_name "$4") had a timeout" ;;
        srtt_us | rtt_us) _write_time $(($2 * 1000)) && echo "${kind%_us} $_text of $(_flow_name "$4")" ;;
        end) echo "the run is at its end: finish measures it, exit leaves it" ;;
        interrupt) echo "stopped by a signal" ;;
        time | '') ;;
        *) echo "$kind $2 of $(_flow_name "$4")" ;;
    esac
}

_flow_name() {
    local name number port
    while read -r name number port; do [ "$number" = "$1" ] && echo "$name" && return; done </run/longhaul/flows
}

moment() {
    local now end passed sent what
    read -r now end passed sent what <"$_clock"
    _write_time "$now"
    what=$(_name_moment $what)
    echo "at $_text${what:+: $what}"
}

# The module answers with an error number: the run is at its end, or the instant is past.
_run_clock() {
    local why
    if ! why=$( (printf 'until %s\n' "$1" >"$_clock") 2>&1); then
        case $why in
            *'No such process'*) _refuse "the run is at its end: finish measures it, exit leaves it" ;;
            *'out of range'*) _refuse "that instant is past" ;;
            *'Interrupted'*) moment ;;
            *) _refuse "the clock takes no '$1': $why" ;;
        esac
        return
    fi
    _passed=0 _sent=0
    moment
}

step() {
    local now rest
    _read_time "$*" || { _refuse "step needs a time, as in step 100ms"; return; }
    read -r now rest <"$_clock"
    _run_clock "time $((now + _ns))"
}

_until() {
    [ $# -gt 0 ] || { _refuse "until needs a condition; help lists them"; return; }
    _read_condition "$*" && _run_clock "$_moment"
}

on() {
    local host=$1
    [ -e "/run/netns/$host" ] || { _refuse "on needs a host or switch of the run: $(ls /run/netns | head -40 | paste -sd' ')"; return; }
    shift
    [ $# -gt 0 ] || { _refuse "on $host needs a command"; return; }
    nsenter --net="/run/netns/$host" -- "$@"
}

# The clock no longer stands for this terminal, and the guest continues without this shell.
finish() {
    echo leave >"$_clock"
    exit 113
}

# What the last command did to the run, and the prompt.
_note_passed() {
    local now end passed sent what
    read -r now end passed sent what <"$_clock"
    if [ "$sent" -gt "$_sent" ]; then
        _write_time $((passed - _passed))
        echo "$_text of virtual time passed, and the command sent packets ($((sent - _sent))): from here on this is another run." >&2
    elif [ $((passed - _passed)) -ge 100000 ]; then
        _write_time $((passed - _passed))
        echo "$_text of virtual time passed while the command waited; it sent nothing." >&2
    elif [ "$passed" -gt "$_passed" ]; then
        echo "$((passed - _passed)) ns of virtual time passed: each time a program reads the clock takes 256 ns." >&2
    fi
    _passed=$passed _sent=$sent
    _write_time "$now"
    PS1="$LONGHAUL_HOST at $_text> "
}

# For a program at the other end of the terminal: the exit code of the last command and the line of the clock, between two signs.
_answer() {
    local code=$? line
    read -r line <"$_clock"
    printf '\x1e%s %s\x1f' "$code" "$line"
}

# `until` and < are words of the shell itself: the line is quoted before bash reads it.
_quote_condition() {
    if [[ $READLINE_LINE =~ ^[[:space:]]*until[[:space:]]+([^\'\"\;\&\|]*[^\'\"\;\&\|[:space:]])(.*)$ ]]; then
        READLINE_LINE="until '${BASH_REMATCH[1]}'${BASH_REMATCH[2]}"
        READLINE_POINT=${#READLINE_LINE}
    fi
}

alias until=_until
if [ -n "${LONGHAUL_EDITED-}" ]; then
    bind -x '"\C-x\C-u": _quote_condition'
    bind '"\C-x\C-k": accept-line'
    bind '"\C-m": "\C-x\C-u\C-x\C-k"'
    bind '"\C-j": "\C-x\C-u\C-x\C-k"'
    bind 'set enable-bracketed-paste off'
    PROMPT_COMMAND=_note_passed
else
    stty -echo -onlcr
    PS1='' PS2='' PROMPT_COMMAND=_answer
fi
# Every host reaches every other one; a run needs only the paths of its flows.
for _host in /run/longhaul/reach/*; do
    [ ! -f "$_host" ] || ip -n "${_host##*/}" -batch "$_host"
done
_passed=0 _sent=0
echo shell >"$_clock"
_run_clock "time $LONGHAUL_AT_NS" >/dev/null
[ -z "$LONGHAUL_UNTIL" ] || _until "$LONGHAUL_UNTIL"
