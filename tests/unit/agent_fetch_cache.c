/* The fetcher's cache under many claims at a time, against what a simple observer counts. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "agent/containers/fetch/fetch_cache.h"
#include "agent/containers/slow.h"
#include "base/memory/arena.h"
#include "base/random.h"

#define URIS 6
#define CLAIMS 8
#define SIZE 1000 /* of the cache */
#define STEPS 400

static char top[64];
static uv_loop_t loop;
static struct slow_pool *pool;
static struct fetch_cache *cache;

/* A container that fetches. */
struct fetching {
	struct fetch_claim *claim;
	bool ready;
	Mesos__CommandInfo command;
	Mesos__CommandInfo__URI uris[URIS], *list[URIS];
	char *names[URIS];
};

static struct fetching fetchings[CLAIMS];

static int fetch_cache_remove_one(const char *path, const struct stat *info, int kind,
				  struct FTW *at)
{
	return remove(path);
}

static void set_up(void)
{
	struct err err = {""};

	strcpy(top, "/tmp/mesita-cache-XXXXXX");
	cr_assert(mkdtemp(top));
	uv_loop_init(&loop);
	pool = slow_pool_create(&loop);
	cache = fetch_cache_create(pool, top, SIZE);
	uv_run(&loop, UV_RUN_NOWAIT);
	cr_assert_eq(fetch_cache_prepare(cache, "u", NULL, &err), 0, "%s", err.text);
}

static void tear_down(void)
{
	fetch_cache_close(cache);
	slow_pool_close(pool);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_expect_eq(uv_loop_close(&loop), 0);
	nftw(top, fetch_cache_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(agent_fetch_cache, .init = set_up, .fini = tear_down, .timeout = 120);

static void is_ready(void *context)
{
	struct fetching *f = context;

	cr_assert_not(f->ready, "it is told once");
	f->ready = true;
}

/* `which`: bit N is URI N. */
static void claim(struct fetching *f, unsigned which)
{
	mesos__command_info__init(&f->command);
	f->command.uris = f->list;
	for (int i = 0; i < URIS; i++) {
		if (!(which & (1u << i)))
			continue;
		mesos__command_info__uri__init(&f->uris[f->command.n_uris]);
		f->names[f->command.n_uris] = xprintf("http://h/file-%d.tar.gz", i);
		f->uris[f->command.n_uris].value = f->names[f->command.n_uris];
		f->uris[f->command.n_uris].has_cache = f->uris[f->command.n_uris].cache = 1;
		f->list[f->command.n_uris] = &f->uris[f->command.n_uris];
		f->command.n_uris++;
	}
	f->ready = false;
	f->claim = fetch_cache_claim(cache, "u", &f->command, is_ready, f);
	if (!fetch_claim_waits(f->claim))
		f->ready = true;
}

static void give_back(struct fetching *f)
{
	struct fetch_claim *claimed = f->claim;

	f->claim = NULL;
	for (size_t i = 0; i < f->command.n_uris; i++)
		free(f->names[i]);
	fetch_claim_release(claimed);
}

static char *file_of(const char *name)
{
	return xprintf("%s/u/%s", top, name);
}

/* What `mesita fetch` does with the list; `fails`: of a hundred downloads. */
static void fetch(struct fetching *f, struct rng *rng, unsigned fails)
{
	struct buf list = BUF_INIT;
	char *save = NULL;

	fetch_claim_list(f->claim, &list);
	buf_putc(&list, '\0');
	for (char *item = strtok_r(list.data, ",", &save); item;
	     item = strtok_r(NULL, ",", &save)) {
		char *path = file_of(strrchr(item, ':') + 1);

		cr_assert_leq(strlen(strrchr(item, ':') + 1), 44, "%s", item);
		if (strstr(item, ":fill:")) {
			cr_expect(access(path, F_OK), "%s is filled twice", path);
			if (rng_next(rng) % 100 >= fails) {
				FILE *file = fopen(path, "w");

				cr_assert(file);
				fprintf(file, "%*d", (int)(1 + rng_next(rng) % (SIZE / 2)), 0);
				fclose(file);
			}
		}
		free(path);
	}
	buf_free(&list);
}

static void drain(void)
{
	while (uv_run(&loop, UV_RUN_NOWAIT) && uv_backend_timeout(&loop) == 0)
		;
}

/* Bytes of the files that are there, once what is to be removed is. */
static uint64_t bytes_there(void)
{
	char *path = xprintf("%s/u", top);
	DIR *directory = opendir(path);
	struct dirent *entry;
	uint64_t sum = 0;

	while (directory && (entry = readdir(directory))) {
		char *file = file_of(entry->d_name);
		struct stat info;

		if (entry->d_name[0] != '.' && stat(file, &info) == 0)
			sum += (uint64_t)info.st_size;
		free(file);
	}
	if (directory)
		closedir(directory);
	free(path);
	return sum;
}

static void expect_tidy(uint64_t seed)
{
	uint64_t total, used, deadline = uv_hrtime() + 20ULL * 1000000000;

	fetch_cache_sizes(cache, &total, &used);
	cr_expect_leq(used, SIZE, "seed %llu", (unsigned long long)seed);
	while (bytes_there() != used && uv_hrtime() < deadline)
		drain();
	cr_expect_eq(bytes_there(), used, "seed %llu: %llu bytes are there, %llu are counted",
		     (unsigned long long)seed, (unsigned long long)bytes_there(),
		     (unsigned long long)used);
}

static void random_life(uint64_t seed)
{
	struct rng rng;

	rng_seed(&rng, seed);
	for (int step = 0; step < STEPS; step++) {
		struct fetching *f = &fetchings[rng_next(&rng) % CLAIMS];

		if (!f->claim)
			claim(f, 1 + (unsigned)(rng_next(&rng) % ((1u << URIS) - 1)));
		else if (f->ready && rng_next(&rng) % 10)
			fetch(f, &rng, 20), give_back(f);
		else if (rng_next(&rng) % 4 == 0)
			give_back(f); /* it was destroyed */
		drain();
	}
	/* The oldest is never one that waits. */
	for (bool any = true; any;) {
		bool moved = false;

		any = false;
		for (int i = 0; i < CLAIMS; i++) {
			any = any || fetchings[i].claim;
			if (!fetchings[i].claim || !fetchings[i].ready)
				continue;
			fetch(&fetchings[i], &rng, 0);
			give_back(&fetchings[i]);
			moved = true;
		}
		cr_assert(!any || moved, "seed %llu: all wait for one another",
			  (unsigned long long)seed);
	}
	expect_tidy(seed);
}

Test(agent_fetch_cache, many_claims)
{
	for (uint64_t seed = 1; seed <= 30; seed++)
		random_life(seed);
}

/* Of the files' numbers the last one counts: before it is what tells agents apart. */
static void expect_list(struct fetching *f, const char *expected)
{
	struct buf list = BUF_INIT, told = BUF_INIT;
	unsigned long long serial;
	char *save = NULL, name[64], mode[8];
	int number;

	fetch_claim_list(f->claim, &list);
	buf_putc(&list, '\0');
	for (char *item = strtok_r(list.data, ",", &save); item;
	     item = strtok_r(NULL, ",", &save)) {
		cr_assert_eq(sscanf(item, "%d:%7[a-z]:c%llu-%63s", &number, mode, &serial, name),
			     4);
		cr_expect_eq(serial >> 24, (unsigned long long)getpid());
		buf_printf(&told, "%s%d:%s:%llu-%s", told.len ? "," : "", number, mode,
			   serial & 0xffffff, name);
	}
	cr_expect_str_eq(told.data ? told.data : "", expected);
	buf_free(&told);
	buf_free(&list);
}

Test(agent_fetch_cache, who_fills_and_who_waits)
{
	struct fetching *one = &fetchings[0], *two = &fetchings[1], *three = &fetchings[2];
	struct rng rng;

	rng_seed(&rng, 1);
	claim(one, 1 | 2);
	cr_expect(one->ready);
	expect_list(one, "0:fill:1-file-0.tar.gz,1:fill:2-file-1.tar.gz");
	claim(two, 2 | 4);
	cr_expect_not(two->ready, "the first fills one of them");
	claim(three, 2);
	cr_expect_not(three->ready);
	fetch(one, &rng, 0);
	give_back(one);
	cr_expect(two->ready && three->ready);
	expect_list(two, "0:get:2-file-1.tar.gz,1:fill:3-file-2.tar.gz");
	expect_list(three, "0:get:2-file-1.tar.gz");
	give_back(three);
	/* Nothing came of it: who waits does without. */
	claim(three, 4);
	cr_expect_not(three->ready);
	give_back(two);
	cr_expect(three->ready);
	expect_list(three, "");
	give_back(three);
	claim(three, 4);
	expect_list(three, "0:fill:4-file-2.tar.gz");
	give_back(three);
}
