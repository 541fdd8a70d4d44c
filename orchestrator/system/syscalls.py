"""The filter of system calls for untrusted code: it refuses calls that no compiler, Python or guest kernel needs.

It is a second barrier behind namespaces and limits. It refuses the calls through which a kernel is usually attacked, and
those that allocate memory that no limit counts (shared segments, files in memory). All others pass. It is a program of
the classic Berkeley Packet Filter, as seccomp takes it, for x86-64, the one architecture with guests.
"""

from __future__ import annotations

import errno
import struct

# <linux/audit.h>, <linux/seccomp.h>; calls with another numbering (32 bits, x32) kill the process.
_X86_64 = 0xC000003E
_X32 = 0x40000000
_KILL, _ERRNO, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
# Offsets in struct seccomp_data.
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
# Instructions: load a word, jump if equal, jump if at least, return.
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06

_SOCKET, _UNIX = 41, 1

# Numbers of arch/x86/entry/syscalls/syscall_64.tbl.
_REFUSED = {
    # Memory that belongs to no process.
    "shmget": 29, "semget": 64, "msgget": 68, "mq_open": 240, "memfd_create": 319, "memfd_secret": 447,
    # Keyrings have no namespace.
    "add_key": 248, "request_key": 249, "keyctl": 250,
    # Large parts of the kernel that are not needed here.
    "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "fanotify_init": 300,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    # Namespaces and mounts.
    "unshare": 272, "setns": 308, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "mount_setattr": 442,
    # Files by number, past every folder.
    "name_to_handle_at": 303, "open_by_handle_at": 304,
    # The memory and files of other processes, other than by ptrace, with which a guest controls its own.
    "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "pidfd_getfd": 438,
    # The machine.
    "init_module": 175, "finit_module": 313, "delete_module": 176, "kexec_load": 246, "kexec_file_load": 320,
    "reboot": 169, "swapon": 167, "swapoff": 168, "acct": 163, "quotactl": 179, "syslog": 103, "iopl": 172, "ioperm": 173,
}  # fmt: skip


def call_filter() -> bytes:
    """The program: refused calls, and sockets other than Unix sockets, fail with EPERM."""
    refuse = _ERRNO | errno.EPERM
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _X86_64),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _KILL),
    ]
    for number in sorted(_REFUSED.values()):
        program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, refuse)]
    program += [
        (_EQUAL, 0, 3, _SOCKET),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_EQUAL, 1, 0, _UNIX),
        (_RETURN, 0, 0, refuse),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)
