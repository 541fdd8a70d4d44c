/* Netlink: build a request, send it and read the answer, or walk a dump. */
#ifndef LONGHAUL_NETLINK_H
#define LONGHAUL_NETLINK_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdint.h>

struct request {
	_Alignas(struct nlmsghdr) char bytes[4096];
};

/* A parsed set of attributes: table[type] or NULL. */
struct attributes {
	const struct rtattr *table[64];
};

/* A socket for NETLINK_ROUTE or NETLINK_SOCK_DIAG, of the namespace the thread is in. */
int netlink_open(int protocol);

void request_begin(struct request *request, uint16_t type, uint16_t flags, const void *body,
		   size_t size);
void request_add(struct request *request, uint16_t type, const void *data, size_t size);
void request_add_u8(struct request *request, uint16_t type, uint8_t value);
void request_add_u32(struct request *request, uint16_t type, uint32_t value);
void request_add_u64(struct request *request, uint16_t type, uint64_t value);
void request_add_text(struct request *request, uint16_t type, const char *text);
/* Plain bytes inside an open nest, as some attributes begin with a structure. */
void request_add_bytes(struct request *request, const void *data, size_t size);
size_t request_nest(struct request *request, uint16_t type);
void request_unnest(struct request *request, size_t nest);

/* 0, or an errno with the kernel's text (or strerror's) in `why`. */
int netlink_ask(int fd, struct request *request, char *why, size_t size);

typedef void (*netlink_visit)(const struct nlmsghdr *message, void *context);
void netlink_dump(int fd, struct request *request, netlink_visit visit, void *context);
/* The same of a request without attributes. */
void netlink_list(int fd, uint16_t type, const void *body, size_t size, netlink_visit visit,
		  void *context);

void attributes_parse(struct attributes *attributes, const void *data, size_t size);
/* The attributes after the fixed part of a message. */
void attributes_of(struct attributes *attributes, const struct nlmsghdr *message, size_t body);
uint32_t attribute_u32(const struct rtattr *attribute); /* 0 if it is not there */
uint64_t attribute_u64(const struct rtattr *attribute);
/* Copies what there is and zeroes the rest: structures grow with the kernel. */
void attribute_copy(const struct rtattr *attribute, void *into, size_t size);

#endif
