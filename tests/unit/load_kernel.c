/* What the kernel tells of processes, read of this one. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/load/measure/kernel.h"

Test(kernel, this_process)
{
	struct process_figures first, second;
	volatile uint64_t work = 0;

	process_read(getpid(), &first);
	cr_assert(first.known);
	cr_assert_gt(first.rss, 0);
	cr_assert_geq(first.peak, first.rss);
	cr_assert_geq(first.age, 0);
	do {
		for (int i = 0; i < 1000000; i++)
			work++;
		process_read(getpid(), &second);
	} while (second.user + second.system == first.user + first.system);
	cr_assert_geq(second.age, first.age);
	cr_assert_geq(second.waited, first.waited);
	cr_assert_geq(second.slept + second.preempted, first.slept + first.preempted);
}

Test(kernel, nobody)
{
	struct process_figures figures;

	process_read(0, &figures);
	cr_assert(!figures.known);
	cr_assert_eq(figures.rss, 0);
}

Test(kernel, who_listens)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	cr_assert_eq(listen(fd, 1), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	cr_assert_eq(process_find(ntohs(address.sin_port)), getpid());
	close(fd);
	cr_assert_eq(process_find(ntohs(address.sin_port)), 0);
}
