/* See kernel.h: /proc, and TCP_INFO of each of our descriptors. */
#include "bench/load/measure/kernel.h"

#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NAME_MAX_HERE 128

static bool read_text(const char *path, char *out, size_t size)
{
	FILE *file = fopen(path, "r");
	size_t len;

	if (!file)
		return false;
	len = fread(out, 1, size - 1, file);
	out[len] = '\0';
	fclose(file);
	return len > 0;
}

/* The text behind the name, which may hold anything but ends with ')'. */
static bool read_stat(const char *path, char *text, size_t size, const char **rest)
{
	if (!read_text(path, text, size) || !(*rest = strrchr(text, ')')))
		return false;
	++*rest;
	return true;
}

static double since_boot(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool read_times(int pid, struct process_figures *out)
{
	double tick = (double)sysconf(_SC_CLK_TCK);
	char path[NAME_MAX_HERE], text[2048];
	unsigned long user, system;
	unsigned long long start;
	const char *rest;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (!read_stat(path, text, sizeof(text), &rest))
		return false;
	if (sscanf(rest,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d %*d "
		   "%llu",
		   &user, &system, &start) != 3)
		return false;
	out->user = (double)user / tick;
	out->system = (double)system / tick;
	out->age = since_boot() - (double)start / tick;
	return true;
}

/* Of the main thread, which is the one with the loop. */
static void read_thread(int pid, struct process_figures *out)
{
	unsigned long long ran, waited, blocked;
	char path[NAME_MAX_HERE], text[2048];
	const char *rest;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, pid);
	if (read_text(path, text, sizeof(text)) && sscanf(text, "%llu %llu", &ran, &waited) == 2)
		out->waited = (double)waited / 1e9;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, pid);
	if (read_stat(path, text, sizeof(text), &rest) &&
	    sscanf(rest,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%*u %*u %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %*d %*u "
		   "%*u %llu",
		   &blocked) == 1)
		out->blocked = (double)blocked / (double)sysconf(_SC_CLK_TCK);
}

static uint64_t line_of(const char *text, const char *name)
{
	const char *line = strstr(text, name);

	return line ? strtoull(line + strlen(name), NULL, 10) : 0;
}

void process_read(int pid, struct process_figures *out)
{
	char path[NAME_MAX_HERE], text[8192];

	memset(out, 0, sizeof(*out));
	if (pid <= 0 || !read_times(pid, out))
		return;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (read_text(path, text, sizeof(text))) {
		out->rss = line_of(text, "VmRSS:") * 1024;
		out->peak = line_of(text, "VmHWM:") * 1024;
		out->preempted = line_of(text, "\nnonvoluntary_ctxt_switches:");
		out->slept = line_of(text, "\nvoluntary_ctxt_switches:");
	}
	read_thread(pid, out);
	out->known = true;
}

/* ---- who listens ----------------------------------------------------------- */

static unsigned long find_inode(const char *table, int port)
{
	FILE *file = fopen(table, "r");
	unsigned long inode, found = 0;
	unsigned local, state;
	char line[512];

	while (file && !found && fgets(line, sizeof(line), file))
		if (sscanf(line, " %*d: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x %*s %*s %*s %*d %*d %lu",
			   &local, &state, &inode) == 3 &&
		    local == (unsigned)port && state == 10)
			found = inode;
	if (file)
		fclose(file);
	return found;
}

static bool holds(const char *pid, const char *wanted)
{
	char path[600], target[NAME_MAX_HERE];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/%s/fd/%s", pid, entry->d_name);
		len = readlink(path, target, sizeof(target) - 1);
		if (len > 0) {
			target[len] = '\0';
			found = strcmp(target, wanted) == 0;
		}
	}
	if (dir)
		closedir(dir);
	return found;
}

int process_find(int port)
{
	unsigned long inode = find_inode("/proc/net/tcp", port);
	char wanted[NAME_MAX_HERE];
	struct dirent *entry;
	int pid = 0;
	DIR *dir;

	if (inode == 0)
		inode = find_inode("/proc/net/tcp6", port);
	if (inode == 0)
		return 0;
	snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
	dir = opendir("/proc");
	while (dir && pid == 0 && (entry = readdir(dir)))
		if (atoi(entry->d_name) > 0 && holds(entry->d_name, wanted))
			pid = atoi(entry->d_name);
	if (dir)
		closedir(dir);
	return pid;
}

/* ---- our sockets ------------------------------------------------------------ */

static void add_socket(int fd, struct socket_figures *out)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0 || info.tcpi_state == 10)
		return;
	out->count++;
	out->sent += info.tcpi_bytes_acked;
	out->received += info.tcpi_bytes_received;
	out->waiting += info.tcpi_notsent_bytes + (uint64_t)info.tcpi_unacked * info.tcpi_snd_mss;
}

void sockets_read(struct socket_figures *out)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	memset(out, 0, sizeof(*out));
	while (dir && (entry = readdir(dir)))
		add_socket(atoi(entry->d_name), out);
	if (dir)
		closedir(dir);
}
