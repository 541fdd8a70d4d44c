// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <sys/socket.h>

int main(void)
{
	printf("%d\n", socket(AF_INET, SOCK_STREAM, 0));
	return 0;
}
