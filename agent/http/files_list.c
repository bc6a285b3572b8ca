/* Listings of directories. */
#include "agent/http/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/memory/arena.h"
#include "base/time/clock.h"

/* Entries of one listing: an answer is made in memory. */
#define ENTRIES_MAX 20000
/* Links are looked behind for so long; what is left is shown as links. A task can make links that
 * take the kernel some 50 ms each. */
#define LINKS_TIME SECOND

/* The last names looked up: files of a sandbox mostly have one owner. */
struct names {
	bool has_user, has_group;
	uid_t uid;
	gid_t gid;
	char user[256];
	char group[256];
};

static const char *user_name(struct names *names, uid_t uid)
{
	char data[4096];
	struct passwd record, *found = NULL;

	if (names->has_user && names->uid == uid)
		return names->user;
	if (!getpwuid_r(uid, &record, data, sizeof(data), &found) && found)
		snprintf(names->user, sizeof(names->user), "%s", record.pw_name);
	else
		snprintf(names->user, sizeof(names->user), "%u", (unsigned)uid);
	names->has_user = true;
	names->uid = uid;
	return names->user;
}

static const char *group_name(struct names *names, gid_t gid)
{
	char data[16384];
	struct group record, *found = NULL;

	if (names->has_group && names->gid == gid)
		return names->group;
	if (!getgrgid_r(gid, &record, data, sizeof(data), &found) && found)
		snprintf(names->group, sizeof(names->group), "%s", record.gr_name);
	else
		snprintf(names->group, sizeof(names->group), "%u", (unsigned)gid);
	names->has_group = true;
	names->gid = gid;
	return names->group;
}

void files_format_mode(unsigned mode, char out[11])
{
	static const char bits[] = "rwxrwxrwx";

	out[0] = S_ISDIR(mode)	  ? 'd'
		 : S_ISLNK(mode)  ? 'l'
		 : S_ISFIFO(mode) ? 'p'
		 : S_ISSOCK(mode) ? 's'
		 : S_ISCHR(mode)  ? 'c'
		 : S_ISBLK(mode)  ? 'b'
				  : '-';
	for (int i = 0; i < 9; i++)
		out[i + 1] = (char)(mode & (0400u >> i) ? bits[i] : '-');
	if (mode & S_ISUID)
		out[3] = mode & 0100 ? 's' : 'S';
	if (mode & S_ISGID)
		out[6] = mode & 0010 ? 's' : 'S';
	if (mode & S_ISVTX)
		out[9] = mode & 0001 ? 't' : 'T';
	out[10] = '\0';
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names in the directory, sorted; in the arena. */
static const char **list_names(struct arena *arena, DIR *dir, size_t *count)
{
	const char **names = NULL;
	struct dirent *entry;
	size_t cap = 0;

	*count = 0;
	while (*count < ENTRIES_MAX && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (*count == cap) {
			cap = cap ? 2 * cap : 64;
			names = xrealloc(names, cap * sizeof(*names));
		}
		names[(*count)++] = arena_strdup(arena, entry->d_name);
	}
	if (*count)
		qsort(names, *count, sizeof(*names), compare_names);
	return names;
}

/* What an entry is: of a link that stays in the sandbox, what it leads to, so that
 * browsers can go on to it. */
static bool stat_entry(const struct files_place *place, int dir, const char *name, bool follow,
		       struct stat *info)
{
	char *path;
	int fd = -1;

	if (fstatat(dir, name, info, AT_SYMLINK_NOFOLLOW))
		return false;
	if (S_ISLNK(info->st_mode) && follow) {
		path = xprintf("%s/%s", place->real, name);
		fd = files_open_in_sandbox(place->work_dir, path);
		free(path);
	}
	if (fd >= 0) {
		fstat(fd, info);
		close(fd);
	}
	return true;
}

void files_list(const struct files_place *place, DIR *dir,
		void (*each)(void *context, const struct files_entry *entry), void *context)
{
	int64_t begin = (int64_t)uv_hrtime();
	size_t len = strlen(place->path), count;
	struct names names = {0};
	struct arena arena;
	struct files_entry entry;
	struct stat info;
	const char **entries;

	arena_init(&arena);
	entries = list_names(&arena, dir, &count);
	while (len > 1 && place->path[len - 1] == '/')
		len--;
	for (size_t i = 0; i < count; i++) {
		bool follow = (int64_t)uv_hrtime() - begin < LINKS_TIME;

		if (!stat_entry(place, dirfd(dir), entries[i], follow, &info))
			continue;
		entry.path = arena_printf(&arena, "%.*s/%s", (int)len, place->path, entries[i]);
		entry.info = &info;
		entry.user = user_name(&names, info.st_uid);
		entry.group = group_name(&names, info.st_gid);
		each(context, &entry);
	}
	free(entries);
	arena_free(&arena);
}
