/* A program that checks its own registers and memory: the same answers on every Linux. It prints what is wrong. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096
#define THREADS 4

static atomic_int wrong;

static void check(int right, const char *what, long detail)
{
	if (right)
		return;
	wrong++;
	printf("wrong: %s (%ld)\n", what, detail);
}

static char *map(int pages, int protection, int flags, int file)
{
	return mmap(NULL, (size_t)pages * PAGE, protection, flags, file, 0);
}

static char *anonymous(int pages)
{
	return map(pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

/* --- registers: all of them are full while one instruction enters the kernel --- */

#define ALL(what) what(0) what(1) what(2) what(3) what(4) what(5) what(6) what(7) \
	what(8) what(9) what(10) what(11) what(12) what(13) what(14) what(15)
#define LOAD(n) "movdqu " #n "*16(%[in]), %%xmm" #n "\n"
#define STORE(n) "movdqu %%xmm" #n ", " #n "*16(%[out])\n"
#define LOAD_WIDE(n) "vmovdqu " #n "*32(%[in]), %%ymm" #n "\n"
#define STORE_WIDE(n) "vmovdqu %%ymm" #n ", " #n "*32(%[out])\n"
#define VECTORS "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", \
	"xmm13", "xmm14", "xmm15"

static int wide;

enum { WRITE = -1, READ = -2, COMPUTE = -3 };

/* A system call, or a byte that is written or read at `first`, or a millisecond's work. */
static long enter(uint64_t *in, uint64_t *out, long number, long first, long second)
{
	long result = number;

#define BETWEEN(load, store, instruction) \
	asm volatile(ALL(load) instruction "\n" ALL(store) \
		     : "+a"(result) : [in] "r"(in), [out] "r"(out), "D"(first), "S"(second) \
		     : "rcx", "r11", "rdx", "memory", VECTORS)
#define EITHER(instruction) do { \
		if (wide) \
			BETWEEN(LOAD_WIDE, STORE_WIDE, instruction); \
		else \
			BETWEEN(LOAD, STORE, instruction); \
	} while (0)
	if (number == WRITE)
		EITHER("movb $1, (%%rdi)");
	else if (number == READ)
		EITHER("movb (%%rdi), %%dl");
	else if (number == COMPUTE)
		EITHER("movl $3000000, %%ecx\n9: decl %%ecx\njnz 9b");
	else
		EITHER("syscall");
	return result;
}

static void same_registers(long number, long first, long second, const char *what)
{
	static _Thread_local uint64_t in[64], out[64];
	static _Thread_local uint64_t turn;
	int words = wide ? 64 : 32;

	turn++;
	for (int i = 0; i < words; i++)
		in[i] = (uint64_t)pthread_self() * 2654435761u + turn * 64 + i;
	memset(out, 0, sizeof(out));
	long result = enter(in, out, number, first, second);
	if (number == SYS_fork && result > 0) {
		int status;
		waitpid(result, &status, 0);
		check(status == 0, "registers of a child", status);
	}
	check(!memcmp(in, out, words * 8), what, number);
	if (number == SYS_fork && result == 0)
		_exit(memcmp(in, out, words * 8) != 0);
}

static void *registers(void *unused)
{
	struct timespec moment = { 0, 10000 };
	char *fresh = anonymous(256);

	for (int i = 0; i < 100; i++) {
		same_registers(SYS_getppid, 0, 0, "registers over a call");
		same_registers(SYS_sched_yield, 0, 0, "registers while other threads run");
		same_registers(SYS_nanosleep, (long)&moment, 0, "registers over a sleep");
		same_registers(READ, (long)fresh + i * PAGE, 0, "registers over a fault of a read");
		same_registers(WRITE, (long)fresh + (255 - i) * PAGE, 0, "registers over a fault of a write");
	}
	for (int i = 0; i < 20; i++)
		same_registers(COMPUTE, 0, 0, "registers over interrupts");
	same_registers(SYS_fork, 0, 0, "registers over a fork");
	return unused;
}

/* --- signals --- */

static uint64_t seen, given;

static void on_user(int signal, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	(void)signal, (void)info;
	memcpy(&seen, interrupted->uc_mcontext.fpregs->_xmm, 8);
	if (given)
		memcpy(interrupted->uc_mcontext.fpregs->_xmm, &given, 8);
	asm volatile("pcmpeqd %%xmm0, %%xmm0; pcmpeqd %%xmm7, %%xmm7" ::: "xmm0", "xmm7");
}

static void signals(void)
{
	struct sigaction action = { .sa_sigaction = on_user, .sa_flags = SA_SIGINFO };
	uint64_t in[64] = { 0x1122334455667788 }, out[64];

	sigaction(SIGUSR1, &action, NULL);
	for (int i = 1; i < 64; i++)
		in[i] = i;
	enter(in, out, SYS_kill, getpid(), SIGUSR1);
	check(seen == in[0], "a register in a signal's frame", seen);
	check(!memcmp(in, out, wide ? 512 : 256), "registers after a signal", out[0]);
	given = 0x99aabbccddeeff00;
	enter(in, out, SYS_kill, getpid(), SIGUSR1);
	check(out[0] == given, "a register that a handler changed", out[0]);
	check(!memcmp(in + 1, out + 1, wide ? 504 : 248), "the registers beside it", out[1]);
}

/* --- faults --- */

static sigjmp_buf back;
static volatile int fault_signal, fault_code;
static volatile uintptr_t fault_address;
static volatile long fault_error;
static char *guarded;

static void on_fault(int signal, siginfo_t *info, void *context)
{
	fault_signal = signal;
	fault_code = info->si_code;
	fault_address = (uintptr_t)info->si_addr;
	fault_error = ((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR];
	if (guarded) {
		mprotect(guarded, PAGE, PROT_READ | PROT_WRITE);
		return;
	}
	siglongjmp(back, 1);
}

static void refused(volatile char *address, int writes, int signal, int code, const char *what)
{
	fault_signal = 0;
	if (!sigsetjmp(back, 1)) {
		if (writes)
			*address = 1;
		else
			(void)*address;
	}
	check(fault_signal == signal && fault_code == code, what, fault_signal * 100 + fault_code);
	check(fault_address == (uintptr_t)address, what, fault_address - (uintptr_t)address);
	if (signal == SIGSEGV)
		check(!(fault_error & 2) == !writes, what, fault_error);
}

static void faults(const char *folder)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	char name[4096], byte = 0, *pages = anonymous(32), *gone = anonymous(1), *shared, *private, *constant;

	snprintf(name, sizeof(name), "%s/file", folder);
	int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; i < 40; i++) {
		byte = 'a' + i % 26;
		check(pwrite(file, &byte, 1, (off_t)i * PAGE) == 1, "writing the file", i);
	}
	check(ftruncate(file, 40 * PAGE) == 0, "extending the file", 0);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	munmap(gone, PAGE);
	refused(gone, 0, SIGSEGV, SEGV_MAPERR, "a read of nothing");
	refused(gone + 8, 1, SIGSEGV, SEGV_MAPERR, "a write to nothing");

	/* A page between two others that may be written. */
	pages[5 * PAGE] = 'x';
	mprotect(pages + 5 * PAGE, PAGE, PROT_READ);
	pages[4 * PAGE] = 'y';
	check(pages[5 * PAGE] == 'x' && pages[5 * PAGE + 1] == 0, "a page beside one that is written", pages[5 * PAGE]);
	refused(pages + 5 * PAGE, 1, SIGSEGV, SEGV_ACCERR, "a write where only reads are allowed");
	mprotect(pages + 20 * PAGE, PAGE, PROT_NONE);
	pages[19 * PAGE] = 'z';
	refused(pages + 20 * PAGE + 3, 0, SIGSEGV, SEGV_ACCERR, "a read where nothing is allowed");
	refused(pages + 20 * PAGE + 4, 1, SIGSEGV, SEGV_ACCERR, "a write where nothing is allowed");
	guarded = pages + 5 * PAGE;
	guarded[1] = 'w';
	check(guarded[0] == 'x' && guarded[1] == 'w' && fault_address == (uintptr_t)guarded + 1, "a write that a handler allows", 0);
	guarded = NULL;

	constant = map(40, PROT_READ, MAP_PRIVATE, file);
	check(constant[0] == 'a' && constant[39 * PAGE] == 'n', "a file that is read", constant[39 * PAGE]);
	refused(constant + PAGE, 1, SIGSEGV, SEGV_ACCERR, "a write to a file that is read");
	refused(constant + 3 * PAGE, 1, SIGSEGV, SEGV_ACCERR, "a write to a page of it that was not read");
	private = map(41, PROT_READ | PROT_WRITE, MAP_PRIVATE, file);
	check(private[39 * PAGE] == 'n' && private[38 * PAGE] == 'm', "a private copy that is read", private[39 * PAGE]);
	private[2 * PAGE] = 'P';
	check(private[2 * PAGE] == 'P' && private[3 * PAGE] == 'd', "a private copy that is written", private[2 * PAGE]);
	refused(private + 40 * PAGE, 0, SIGBUS, BUS_ADRERR, "a read behind the end of the file");
	refused(private + 40 * PAGE, 1, SIGBUS, BUS_ADRERR, "a write behind the end of the file");
	shared = map(40, PROT_READ | PROT_WRITE, MAP_SHARED, file);
	check(shared[2 * PAGE] == 'c', "a file beside its private copy", shared[2 * PAGE]);
	shared[4 * PAGE] = 'S';
	shared[6 * PAGE + 1] = 'S';
	check(pread(file, &byte, 1, 4 * PAGE) == 1 && byte == 'S', "a file that is written", byte);
	check(shared[6 * PAGE] == 'g', "the rest of its page", shared[6 * PAGE]);
}

static void copies(void)
{
	int status, pages = 200;
	char *memory = anonymous(pages);

	for (int i = 0; i < pages; i += 2)
		memory[i * PAGE] = 1;
	pid_t child = fork();
	for (int i = 0; i < pages; i += child ? 3 : 1)
		memory[i * PAGE + 1] = child ? 2 : 3;
	if (!child) {
		int good = 1;
		for (int i = 0; i < pages; i++)
			good &= memory[i * PAGE] == (i % 2 == 0) && memory[i * PAGE + 1] == 3;
		_exit(!good);
	}
	waitpid(child, &status, 0);
	check(status == 0, "memory of a child", status);
	for (int i = 0; i < pages; i++)
		check(memory[i * PAGE] == (i % 2 == 0) && memory[i * PAGE + 1] == (i % 3 ? 0 : 2), "memory of a parent", i);
}

static int deep(int depth)
{
	volatile char frame[3000];

	frame[depth % 3000] = depth;
	return depth ? deep(depth - 1) + (frame[depth % 3000] == (char)depth) : 0;
}

int main(int count, char **words)
{
	uint32_t control;
	pthread_t threads[THREADS];

	asm volatile("stmxcsr %0" : "=m"(control));
	if (count > 2) {
		check(control == 0x1f80, "the control register of a new program", control);
		return wrong != 0;
	}
	setvbuf(stdout, NULL, _IONBF, 0);
	wide = __builtin_cpu_supports("avx");
	for (int i = 0; i < THREADS; i++)
		pthread_create(threads + i, NULL, registers, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	signals();
	faults(words[1]);
	copies();
	check(deep(2000) == 2000, "a deep stack", 0);
	if (wrong)
		return 1;
	/* Rounds to zero: the program that follows rounds to the nearest. */
	control |= 0x6000;
	asm volatile("ldmxcsr %0" ::"m"(control));
	printf("registers of %s bytes and memory are right\n", wide ? "32" : "16");
	execl("/proc/self/exe", words[0], words[1], "again", NULL);
	return 1;
}
