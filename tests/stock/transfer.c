/*
 * Moves bytes over TCP in the stock kernel's guest, and proves that they came: every eight of them are their own number.
 *
 *	transfer receive PORT                       returns when it listens; then prints how many came, and whether in order
 *	transfer send ADDRESS PORT BYTES [CONTROL [RATE]]
 *	                                            prints which congestion control the socket had once all was received;
 *	                                            RATE is its SO_MAX_PACING_RATE, in bytes/s
 *	transfer may CONTROL                        prints yes or no: may a user without privileges choose it
 *
 * The receiver has printed its result before the sender ends; each ends within 30 s or by SIGALRM.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LIMIT_S = 30, WORDS = 8192, UNPRIVILEGED = 65534 };

static uint64_t words[WORDS];

static struct sockaddr_in address_of(const char *address, const char *port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};

	if (inet_pton(AF_INET, address, &in.sin_addr) != 1)
		errx(2, "%s is no IPv4 address", address);
	return in;
}

static int tcp_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0)
		err(1, "socket");
	return fd;
}

static int choose(int fd, const char *control)
{
	return setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, control, (socklen_t)strlen(control));
}

static int receive(const char *port)
{
	struct sockaddr_in in = address_of("0.0.0.0", port);
	int listener = tcp_socket(), one = 1, fd, intact = 1;
	uint64_t bytes = 0;
	ssize_t got;

	if (setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		err(1, "SO_REUSEADDR");
	if (bind(listener, (struct sockaddr *)&in, sizeof(in)) || listen(listener, 1))
		err(1, "listen on port %s", port);
	if (fork())
		return 0;
	alarm(LIMIT_S);
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		err(1, "accept");
	while ((got = recv(fd, words, sizeof(words), MSG_WAITALL)) > 0) {
		for (ssize_t i = 0; i < got / 8; i++)
			intact &= words[i] == bytes / 8 + (uint64_t)i;
		bytes += (uint64_t)got;
	}
	printf("%llu %s\n", (unsigned long long)bytes,
	       got < 0	? strerror(errno)
	       : intact ? "intact"
			: "changed");
	fflush(stdout);
	return 0;
}

static int send_to(const char *address, const char *port, uint64_t bytes, const char *control,
		   const char *rate)
{
	struct sockaddr_in in = address_of(address, port);
	int fd = tcp_socket();
	char name[16] = "";
	socklen_t length = sizeof(name);

	alarm(LIMIT_S);
	if (control && choose(fd, control))
		err(1, "choose %s", control);
	if (rate) {
		uint64_t value = strtoull(rate, NULL, 10);

		if (setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &value, sizeof(value)))
			err(1, "SO_MAX_PACING_RATE");
	}
	if (connect(fd, (struct sockaddr *)&in, sizeof(in)))
		err(1, "connect to %s", address);
	for (uint64_t sent = 0; sent < bytes;) {
		size_t chunk = bytes - sent < sizeof(words) ? bytes - sent : sizeof(words);

		for (size_t i = 0; i < chunk / 8; i++)
			words[i] = sent / 8 + i;
		for (size_t done = 0; done < chunk;) {
			ssize_t n = write(fd, (char *)words + done, chunk - done);

			if (n < 0)
				err(1, "write after %llu bytes", (unsigned long long)(sent + done));
			done += (size_t)n;
		}
		sent += chunk;
	}
	if (shutdown(fd, SHUT_WR) || read(fd, words, sizeof(words)) != 0)
		err(1, "wait for the receiver");
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &length))
		err(1, "TCP_CONGESTION");
	printf("%.16s\n", name);
	return 0;
}

static int may(const char *control)
{
	int fd = tcp_socket();

	if (setuid(UNPRIVILEGED))
		err(2, "setuid");
	if (!choose(fd, control))
		puts("yes");
	else if (errno == EPERM)
		puts("no");
	else
		err(1, "choose %s", control);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "receive"))
		return receive(argv[2]);
	if (argc >= 5 && argc <= 7 && !strcmp(argv[1], "send"))
		return send_to(argv[2], argv[3], strtoull(argv[4], NULL, 10), argv[5],
			       argc == 7 ? argv[6] : NULL);
	if (argc == 3 && !strcmp(argv[1], "may"))
		return may(argv[2]);
	errx(2,
	     "usage: transfer receive PORT | send ADDRESS PORT BYTES [CONTROL [RATE]] | may CONTROL");
}
