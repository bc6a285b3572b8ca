/* What is called durable was synced, whichever of leveldb's logs it is in. The calls that sync are
 * replaced by ones that note how long the file was. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory/arena.h"
#include "store/store.h"

#define FILES_MAX 1000

static struct {
	ino_t inode;
	off_t size;
} synced[FILES_MAX];
static size_t count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void note(int fd)
{
	struct stat st;
	size_t i;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	pthread_mutex_lock(&lock);
	for (i = 0; i < count && synced[i].inode != st.st_ino; i++)
		;
	if (i < FILES_MAX) {
		synced[i].inode = st.st_ino;
		synced[i].size = st.st_size;
		count = i < count ? count : i + 1;
	}
	pthread_mutex_unlock(&lock);
}

int fdatasync(int fd)
{
	note(fd);
	return 0;
}

int fsync(int fd)
{
	note(fd);
	return 0;
}

static off_t synced_size(ino_t inode)
{
	off_t size = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < count; i++) {
		if (synced[i].inode == inode)
			size = synced[i].size;
	}
	pthread_mutex_unlock(&lock);
	return size;
}

/* Bytes of logs that a power cut could take. */
static off_t unsynced(const char *directory, int *logs)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	struct stat st;
	off_t sum = 0;

	*logs = 0;
	while ((entry = readdir(dir))) {
		const char *dot = strrchr(entry->d_name, '.');

		if (!dot || strcmp(dot, ".log") || fstatat(dirfd(dir), entry->d_name, &st, 0) < 0)
			continue;
		(*logs)++;
		sum += st.st_size - synced_size(st.st_ino);
	}
	closedir(dir);
	return sum;
}

Test(store_sync, all_that_is_durable_was_synced)
{
	char directory[] = "/tmp/mesita-sync-XXXXXX";
	struct store_options options = {.path = directory, .buffer = 64 * 1024};
	struct store *store;
	struct err err = {""};
	char *value = malloc(20000), *command;
	int most = 0;

	memset(value, 'x', 20000);
	cr_assert(mkdtemp(directory));
	cr_assert_eq(store_open(&options, &store, &err), 0, "%s", err.text);
	for (int round = 0; round < 200; round++) {
		uint64_t number = 0;
		int logs;

		for (int i = 0; i < 7; i++) {
			char key[32];
			struct store_op op = {.value = {value, 20000}};

			snprintf(key, sizeof(key), "%d-%d", round, i);
			op.key = (struct slice){key, strlen(key)};
			number = store_write(store, i % 7 == 3 ? STORE_SYNCED : STORE_BEHIND, &op,
					     1);
			while (i < 6 && store_applied(store) + 1 < number)
				sched_yield();
		}
		number = store_write(store, STORE_SYNCED, NULL, 0);
		while (store_durable(store) < number)
			sched_yield();
		cr_expect_eq(unsynced(directory, &logs), 0, "in round %d, of %d logs", round, logs);
		most = logs > most ? logs : most;
	}
	cr_expect_gt(most, 1, "there never was an old log");
	store_close(store);
	free(value);
	command = xprintf("rm -rf %s", directory);
	cr_assert_eq(system(command), 0);
	free(command);
}
