"""The congestion controls of experiments: one list, with the module and the parameters of each.

Names are the kernel's (`net/ipv4/tcp_<name>.c`, Linux 6.12) plus the project's (`kmod/tcp_<name>.c`), whose parameters and
description are in their source alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from longhaul.orchestrator.spec.parameters import Parameter, declared_parameters, described
from longhaul.orchestrator.system.errors import UnknownName, allowed_instead
from longhaul.orchestrator.system.installation import KMOD
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

_PACING = "SO_MAX_PACING_RATE"
# Begins the remark on a control that replaces a known one. No name contains a space, so a study's name for a control never contains this.
USER_SUPPLIED = "user-supplied "
# The remark on a BPF program: a guest runs its code as a module (modules/bpf.py).
NATIVE_BUILD = "native build of a BPF program"


@dataclass(frozen=True, slots=True)
class CongestionControl:
    """`builtin`: part of the kernel, without a module; `needs` are modules to load first."""

    name: str
    about: str
    builtin: bool = False
    needs: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    # Reduces its window at every loss, so that its rate falls with 1/sqrt(loss) or a little slower.
    loss_based: bool = True
    # Gives way to other flows that share a queue with it; one that does not belongs on paths of its own.
    yields: bool = True
    # The receiver has to run it too: it acknowledges a DCTCP sender's marks one by one.
    both_ends: bool = False
    # The parameter that switches hybrid slow start, and its values for off and on.
    hystart: tuple[str, str, str] | None = None
    # Of a user-supplied module: the hash of its content (modules/content.py).
    source: str = ""
    # Why its module cannot be built for the experiment's kernel.
    problem: str = ""
    # Whether only because its private area is larger than the kernel's.
    needs_room: bool = False
    # The name of its module, where it is another than tcp_<name>.
    object: str = ""
    # Whether it takes the place of the kernel's or the project's control of this name.
    replaces: bool = False
    # Of a module that gets other names than its source has: the file, and the name that the control registers in the guest.
    file: str = ""
    registers: str = ""
    # Of a module that registers several: the name of this one in the source.
    written: str = ""
    # Whether its source is a BPF program.
    is_bpf: bool = False

    @property
    def module(self) -> str:
        """The kernel object's name without its ending."""
        return self.object or (f"own_{self.name}" if self.replaces else f"tcp_{self.name}")

    @property
    def remark(self) -> str:
        """What tables say of it next to its name: which source takes the place of a known control, and whether it is a BPF program; or ""."""
        return ", ".join([f"{USER_SUPPLIED}{self.source[:8]}"] * self.replaces + [NATIVE_BUILD] * self.is_bpf)

    def parameter(self, name: str) -> Parameter | None:
        return next((parameter for parameter in self.parameters if parameter.name == name), None)


def _switch(name: str, default: int, about: str) -> Parameter:
    return Parameter(name, "switch", default, 0, 1, about)


def _number(name: str, default: int, low: int, high: int, about: str) -> Parameter:
    return Parameter(name, "number", default, low, high, about)


def _packets(name: str, default: int, low: int, high: int, about: str) -> Parameter:
    return Parameter(name, "packets", default, low, high, about)


def _own(name: str, *, loss_based: bool = True, yields: bool = True) -> CongestionControl:
    """One of kmod/."""
    source = KMOD / f"tcp_{name}.c"
    return CongestionControl(
        name, described(source), parameters=declared_parameters(source), loss_based=loss_based, yields=yields
    )


_HYSTART_DETECT = _number("hystart_detect", 3, 0, 3, "hybrid slow start: 1 ACK train, 2 delay, 3 both")
_FAST_CONVERGENCE = _switch("fast_convergence", 1, "release bandwidth when a loss comes below the last maximum")
_INITIAL_SSTHRESH = _packets("initial_ssthresh", 0, 0, 2**30, "slow start threshold at the start; 0: none")

_TABLE = (
    CongestionControl("reno", "NewReno: one packet a round trip, half at a loss", builtin=True),
    CongestionControl(
        "cubic",
        "CUBIC: a cubic function of the time since the last loss; Linux's default",
        builtin=True,
        hystart=("hystart", "0", "1"),
        parameters=(
            _FAST_CONVERGENCE,
            _number("beta", 717, 512, 1023, "window kept at a loss, in 1/1024"),
            _INITIAL_SSTHRESH,
            _switch("tcp_friendliness", 1, "at least as fast as Reno would be"),
            _switch("hystart", 1, "hybrid slow start"),
            _HYSTART_DETECT,
            _packets("hystart_low_window", 16, 2, 2**20, "hybrid slow start acts above this window"),
            Parameter(
                "hystart_ack_delta_us", "us", 2000, 1, 10**6, "largest spacing of ACKs that still counts as a train"
            ),
        ),
    ),
    CongestionControl(
        "bic",
        "BIC: binary search for the window of the last loss",
        parameters=(
            _FAST_CONVERGENCE,
            _packets("max_increment", 16, 1, 2**16, "largest step of the search, a round trip"),
            _packets("low_window", 14, 1, 2**16, "Reno below this window"),
            _number("beta", 819, 1, 1023, "window kept at a loss, in 1/1024"),
            _INITIAL_SSTHRESH,
            _number("smooth_part", 20, 5, 1000, "round trips spent near the last maximum"),
        ),
    ),
    CongestionControl(
        "htcp",
        "H-TCP: faster the longer the last loss is ago",
        parameters=(
            _switch("use_rtt_scaling", 1, "scale the increase with the round trip"),
            _switch("use_bandwidth_switch", 1, "halve the window when the achieved bandwidth changed"),
        ),
    ),
    CongestionControl("highspeed", "HighSpeed TCP, RFC 3649"),
    CongestionControl("scalable", "Scalable TCP: a fixed share up an ACK, an eighth down a loss"),
    CongestionControl("westwood", "Westwood+: back to the estimated bandwidth at a loss"),
    CongestionControl(
        "vegas",
        "Vegas: keeps a few packets queued, by delay",
        loss_based=False,
        parameters=(
            _packets("alpha", 2, 1, 1000, "fewest packets to keep in the queue"),
            _packets("beta", 4, 1, 1000, "most packets to keep in the queue"),
            _packets("gamma", 1, 1, 1000, "queued packets that end slow start"),
        ),
    ),
    CongestionControl("veno", "Veno: Reno that detects random loss by delay"),
    CongestionControl(
        "hybla",
        "Hybla: as fast as a flow of the reference round trip",
        parameters=(Parameter("rtt0", "ms", 25, 1, 1000, "reference round trip"),),
    ),
    CongestionControl(
        "illinois",
        "Illinois: steps by loss, their size by delay",
        parameters=(
            Parameter("win_thresh", "packets", 15, 1, 2**16, "adaptive steps above this window", fixed=True),
            Parameter("theta", "number", 5, 1, 1000, "fast round trips before the full step", fixed=True),
        ),
    ),
    CongestionControl(
        "lp",
        "TCP-LP: yields by one-way delay, and takes little alone; a delayed ACK is a queue to it (delayed_ack: off)",
        loss_based=False,
    ),
    CongestionControl("yeah", "YeAH: Scalable while the queue is short, else Reno", needs=("tcp_vegas",)),
    CongestionControl(
        "nv",
        "NV: Vegas for data centres, by measured bandwidth",
        loss_based=False,
        parameters=(
            _packets("nv_pad", 10, 1, 1000, "most packets to keep in the queue"),
            Parameter("nv_reset_period", "s", 5, 1, 1000, "how often the smallest round trip is measured again"),
            _packets("nv_min_cwnd", 2, 2, 1000, "smallest window without loss"),
        ),
    ),
    CongestionControl(
        "cdg",
        "CDG: backs off by the gradient of delay",
        loss_based=False,
        hystart=("hystart_detect", "0", "3"),
        parameters=(
            Parameter("window", "number", 8, 1, 256, "samples of the gradient, a power of two", fixed=True),
            _number("backoff_beta", 724, 0, 1024, "window kept at a back-off, in 1/1024"),
            _number("backoff_factor", 42, 1, 1000, "scale of the back-off's probability"),
            _HYSTART_DETECT,
            _number("use_ineff", 5, 0, 1000, "back-offs without effect that stop further ones; 0: off"),
            _switch("use_shadow", 1, "remember the window the loss-based part would have"),
            _switch("use_tolerance", 0, "take some losses for random ones"),
        ),
    ),
    CongestionControl(
        "dctcp",
        "DCTCP: back-off in proportion to the marks; needs ECN and a marking queue",
        both_ends=True,
        parameters=(
            _number("dctcp_shift_g", 4, 0, 10, "weight of a new share of marks, 1/2^g"),
            _number("dctcp_alpha_on_init", 1024, 0, 1024, "share of marks assumed at the start, in 1/1024"),
        ),
    ),
    CongestionControl(
        "bbr", "BBR: paces at the measured bandwidth, bounded by the measured round trip", loss_based=False
    ),
    _own("apptcp", loss_based=False, yields=False),
    _own("htcp_be"),
    _own("agilesd"),
    _own("ccp", loss_based=False, yields=False),
    _own("ccpd", loss_based=False, yields=False),
    _own("compound"),
    _own("lhfixed", loss_based=False, yields=False),
)

CONGESTION_CONTROLS: Mapping[str, CongestionControl] = {control.name: control for control in _TABLE}

# Names of papers and of other programs that mean one of the above.
ALIASES: Mapping[str, str] = {"hstcp": "highspeed", "stcp": "scalable", "newreno": "reno"}


def find_control(name: str, own: Mapping[str, CongestionControl] | None = None) -> CongestionControl:
    """The control of that name or alias, or a user-supplied one; UnknownName lists the names and the nearest one."""
    known = {**CONGESTION_CONTROLS, **(own or {})}
    control = known.get(ALIASES.get(name, name))
    if control is not None:
        return control
    raise UnknownName(allowed_instead(f"one of {', '.join(known)}", name, [*known, *ALIASES]))


def pacing_bps(control: CongestionControl, params: Mapping[str, object]) -> int | None:
    """The rate that is set through SO_MAX_PACING_RATE, or None."""
    for parameter, written in _written(control, params):
        if parameter.socket_option == _PACING:
            return parameter.read(written) * 1000
    return None


def module_params(control: CongestionControl, params: Mapping[str, object]) -> dict[str, str]:
    """The parameters of a module, as text for the kernel; rules.py has checked that each exists."""
    return {
        parameter.name: str(parameter.read(written))
        for parameter, written in _written(control, params)
        if parameter.socket_option is None
    }


def _written(control: CongestionControl, params: Mapping[str, object]) -> Iterator[tuple[Parameter, object]]:
    for parameter in control.parameters:
        if parameter.name in params:
            yield parameter, params[parameter.name]
