/* A shell in a guest whose clock stands (kmod/lh_shell.c starts it). */
#ifndef LONGHAUL_SHELL_H
#define LONGHAUL_SHELL_H

_Noreturn void shell_run(void);

#endif
