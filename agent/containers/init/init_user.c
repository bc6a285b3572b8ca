/* Users as images name them, by the files of the container: the C library would ask services that
 * are the machine's. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/containers/init/init_internal.h"
#include "base/memory/arena.h"

#define LINE_FIELDS 4

/* Splits a line of /etc/passwd or /etc/group in place. */
static size_t split_line(char *line, char *fields[LINE_FIELDS])
{
	size_t count = 0;

	line[strcspn(line, "\n")] = 0;
	while (count < LINE_FIELDS && (fields[count] = strsep(&line, ":")))
		count++;
	return count;
}

static bool is_number(const char *text, unsigned *out)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	*out = (unsigned)value;
	return *text >= '0' && *text <= '9' && !*end && value < 0xffffffffUL;
}

/* The line whose first field is `name`, or whose third is the number; field 3 and 4 are told. */
static bool look_up(const char *path, const char *name, unsigned *id, unsigned *more)
{
	FILE *file = fopen(path, "re");
	char *line = NULL, *fields[LINE_FIELDS];
	size_t room = 0;
	unsigned number;
	bool numeric = is_number(name, &number), found = false;

	while (file && !found && getline(&line, &room, file) > 0) {
		if (split_line(line, fields) < 3 || !is_number(fields[2], id))
			continue;
		found = numeric ? *id == number : !strcmp(fields[0], name);
		if (found && more && !is_number(fields[3] ? fields[3] : "", more))
			found = false;
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}

int room_find_user(const char *name, struct user *out, struct err *err)
{
	char *user = xstrdup(name), *group = strchr(user, ':');
	unsigned uid = 0, gid = 0;
	int rv = 0;

	if (group)
		*group++ = 0;
	if (!look_up("/etc/passwd", user, &uid, &gid)) {
		gid = 0;
		if (!is_number(user, &uid))
			rv = err_set(err, ERR_NOT_FOUND, "The image has no user '%s'", user);
	}
	if (rv == 0 && group && *group && !is_number(group, &gid) &&
	    !look_up("/etc/group", group, &gid, NULL))
		rv = err_set(err, ERR_NOT_FOUND, "The image has no group '%s'", group);
	out->uid = uid;
	out->gid = gid;
	free(user);
	return rv;
}
