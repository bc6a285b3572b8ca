/* The link to the latest agent's directory (latest.h). The link comes before the directory:
 * who is killed between the two does not look like one whose link was taken away. */
#include "agent/latest.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log/log.h"
#include "base/memory/arena.h"

bool latest_removed(const char *work_dir)
{
	char *path = xprintf("%s/meta/slaves", work_dir);
	DIR *dir = opendir(path);
	bool linked = false, found = false;
	struct dirent *entry;

	free(path);
	if (!dir)
		return false;
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, "latest"))
			linked = true;
		else if (entry->d_name[0] != '.')
			found = true;
	}
	closedir(dir);
	return found && !linked;
}

static int make_directory(const char *path)
{
	return mkdir(path, 0755) == 0 || errno == EEXIST ? 0 : -1;
}

static int set_link(const char *slaves, const char *directory)
{
	char *latest = xprintf("%s/latest", slaves);
	char *fresh = xprintf("%s/.latest.new", slaves);
	int rv = 0;

	unlink(fresh);
	if (symlink(directory, fresh) < 0 || rename(fresh, latest) < 0)
		rv = -1;
	free(fresh);
	free(latest);
	return rv;
}

void latest_set(const char *work_dir, const char *agent_id)
{
	char *slaves = xprintf("%s/meta/slaves", work_dir);
	char *directory = xprintf("%s/%s", slaves, agent_id);

	if (make_directory(slaves) < 0 || set_link(slaves, directory) < 0 ||
	    make_directory(directory) < 0)
		log_warning("Cannot make '%s/latest' point to '%s': %s", slaves, directory,
			    strerror(errno));
	free(directory);
	free(slaves);
}
