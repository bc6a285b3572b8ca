/* Where sandboxes are, and which paths the files API may show.
 *
 *   <work_dir>/slaves/<agent>/frameworks/<fw>/executors/<exec>/runs/<container>/...
 *   /frameworks/<fw>/executors/<exec>/runs/<container or latest>/...   (virtual)
 *
 * What was removed is simply not there: a sandbox stays readable until it is collected. */
#include "agent/core/paths.h"

#include <string.h>

#include "agent/core/objects.h"

char *agent_framework_path(const struct agent *agent, const char *framework_id)
{
	return xprintf("%s/slaves/%s/frameworks/%s", agent->options.work_dir, agent_id(agent),
		       framework_id);
}

char *agent_executor_path(const struct agent *agent, const char *framework_id,
			  const char *executor_id)
{
	return xprintf("%s/slaves/%s/frameworks/%s/executors/%s", agent->options.work_dir,
		       agent_id(agent), framework_id, executor_id);
}

char *agent_run_path(const struct agent *agent, const char *framework_id, const char *executor_id,
		     const char *container)
{
	return xprintf("%s/slaves/%s/frameworks/%s/executors/%s/runs/%s", agent->options.work_dir,
		       agent_id(agent), framework_id, executor_id, container);
}

/* "a/b" matches the words of a pattern, "*" any one name. Returns what follows, which may
 * lead anywhere, or NULL. */
static const char *paths_match(const char *path, const char *const *words)
{
	for (; *words; words++) {
		size_t len;

		while (*path == '/')
			path++;
		len = strcspn(path, "/");
		if (len == 0 || (len <= 2 && strspn(path, ".") == len))
			return NULL;
		if (strcmp(*words, "*") != 0 &&
		    (strlen(*words) != len || memcmp(*words, path, len) != 0))
			return NULL;
		path += len;
	}
	return path;
}

bool agent_resolve_path(const struct agent *agent, const char *path, char **real)
{
	static const char *const virtual[] = {"frameworks", "*", "executors", "*",
					      "runs",	    "*", NULL};
	static const char *const below[] = {"slaves", "*",    "frameworks", "*", "executors",
					    "*",      "runs", "*",	    NULL};
	const char *work_dir = agent->options.work_dir;
	size_t len = strlen(work_dir);

	if (paths_match(path, virtual)) {
		while (*path == '/')
			path++;
		*real = xprintf("%s/slaves/%s/%s", work_dir, agent_id(agent), path);
		return true;
	}
	if (strncmp(path, work_dir, len) == 0 && path[len] == '/' &&
	    paths_match(path + len, below)) {
		*real = xstrdup(path);
		return true;
	}
	return false;
}

/* The name after some others, which there must be. */
static char *nth_name(const char *path, int skipped)
{
	while (*path == '/')
		path++;
	for (; skipped > 0; skipped--) {
		path += strcspn(path, "/");
		while (*path == '/')
			path++;
	}
	return xstrndup(path, strcspn(path, "/"));
}

bool agent_path_owner(const struct agent *agent, const char *path, char **framework_id,
		      char **executor_id)
{
	size_t len = strlen(agent->options.work_dir);
	char *real;
	bool below;

	if (!agent_resolve_path(agent, path, &real))
		return false;
	free(real);
	/* "frameworks/F/executors/E", which "slaves/S" may precede. */
	below = strncmp(path, agent->options.work_dir, len) == 0 && path[len] == '/';
	path += below ? len : 0;
	*framework_id = nth_name(path, below ? 3 : 1);
	*executor_id = nth_name(path, below ? 5 : 3);
	return true;
}
