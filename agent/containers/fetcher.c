/* The rules of fetching, and `mesita fetch`; see fetcher.h.
 *
 * Runs with the rights of the task's user and may block as it likes. The first URI
 * that cannot be fetched ends it with status 1. */
#include "agent/containers/fetcher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/containers/sandbox.h"
#include "base/flags/flags.h"
#include "base/log/log.h"
#include "base/time/clock.h"
#include "base/time/duration.h"

#define INPUT_MAX (64 * 1024 * 1024) /* as much as a request may hold */
#define COPY_SIZE (1024 * 1024)

struct fetch {
	const char *directory;
	const char *frameworks_home;
	const char *hadoop_home;
	int64_t stall_timeout;
	struct arena arena;
};

/* ---- rules --------------------------------------------------------------- */

int fetch_basename(const char *uri, const char **name, struct err *err)
{
	const char *scheme = strstr(uri, "://");
	const char *slash;

	if (strpbrk(uri, "\\'"))
		return err_set(err, ERR_INVALID, "Illegal characters in URI");
	if (scheme && scheme - uri > 1) {
		slash = strchr(scheme + 3, '/');
		if (!slash || !slash[1])
			return err_set(err, ERR_INVALID, "Malformed URI (missing path): %s", uri);
	}
	slash = strrchr(uri, '/');
	*name = slash ? slash + 1 : uri;
	return 0;
}

static bool leaves_directory(const char *path)
{
	for (;;) {
		size_t len = strcspn(path, "/");

		if (len == 2 && !strncmp(path, "..", 2))
			return true;
		path += len;
		if (!*path)
			return false;
		path++;
	}
}

int fetch_validate(const Mesos__CommandInfo *command, struct err *err)
{
	const char *name;

	for (size_t i = 0; i < command->n_uris; i++) {
		const char *output = command->uris[i]->output_file;
		int rv = fetch_basename(command->uris[i]->value, &name, err);

		if (rv < 0)
			return rv;
		if (output && !*output)
			return err_set(err, ERR_INVALID, "URI output file path is empty");
		if (output && (*output == '/' || leaves_directory(output)))
			return err_set(err, ERR_INVALID,
				       "URI output file must be within the sandbox directory");
	}
	return 0;
}

int fetch_local_path(struct arena *arena, const char *uri, const char *home, const char **path,
		     struct err *err)
{
	bool is_file = str_has_prefix(uri, "file://");

	*path = NULL;
	if (!is_file && strstr(uri, "://"))
		return 0;
	if (is_file)
		uri += strlen("file://");
	if (str_has_prefix(uri, "localhost"))
		uri += strlen("localhost");
	if (*uri == '/')
		*path = arena_strdup(arena, uri);
	else if (is_file)
		return err_set(err, ERR_INVALID, "File URI only supports absolute paths");
	else if (!home || !*home)
		return err_set(
			err, ERR_INVALID,
			"A relative path was passed for the resource but the Mesos framework "
			"home was not specified. Please either provide this config option or "
			"avoid using a relative path");
	else
		*path = arena_printf(arena, "%s/%s", home, uri);
	return 0;
}

/* ---- helpers ------------------------------------------------------------- */

/* Runs a program; what it prints goes to `output` (if given), else to our stdout.
 * `input` and `target`: files to read from and write to, or NULL. */
static int run_program(char *const *argv, const char *input, const char *target, struct buf *output,
		       struct err *err)
{
	char piece[4096];
	int ends[2] = {-1, -1}, status;
	ssize_t got;
	pid_t pid;

	if (output && pipe2(ends, O_CLOEXEC))
		return err_set(err, ERR_IO, "Failed to make a pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		int in = open(input ? input : "/dev/null", O_RDONLY | O_CLOEXEC);
		int out = target ? open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)
				 : ends[1];

		if (in < 0 || (target && out < 0)) {
			fprintf(stderr, "cannot open '%s': %s\n", in < 0 ? input : target,
				strerror(errno));
			_exit(126);
		}
		dup2(in, 0);
		if (out >= 0)
			dup2(out, 1);
		execvp(argv[0], argv);
		fprintf(stderr, "cannot run '%s': %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	if (output) {
		close(ends[1]);
		while (pid > 0 && (got = read(ends[0], piece, sizeof(piece))) > 0)
			buf_append(output, piece, (size_t)got);
		close(ends[0]);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return err_set(err, ERR_IO, "Failed to run '%s': %s", argv[0], strerror(errno));
	if (WIFSIGNALED(status))
		return err_set(err, ERR_IO, "'%s' terminated with signal %s", argv[0],
			       strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status) == 127)
		return err_set(err, ERR_NOT_FOUND, "'%s' is not installed", argv[0]);
	if (WEXITSTATUS(status))
		return err_set(err, ERR_IO, "'%s' exited with status %d", argv[0],
			       WEXITSTATUS(status));
	return 0;
}

static int copy_bytes(int from, int to, const char *source, struct err *err)
{
	char *data = xmalloc(COPY_SIZE);
	ssize_t got, put = 0;

	while ((got = read(from, data, COPY_SIZE)) > 0)
		for (ssize_t done = 0; done < got; done += put)
			if ((put = write(to, data + done, (size_t)(got - done))) < 0) {
				got = -1;
				break;
			}
	free(data);
	if (got < 0)
		return err_set(err, ERR_IO, "Failed to copy '%s': %s", source, strerror(errno));
	return 0;
}

static int copy_file(const char *source, const char *target, struct err *err)
{
	struct stat info;
	int from = open(source, O_RDONLY | O_CLOEXEC), to, rv;

	if (from < 0 || fstat(from, &info)) {
		rv = err_set(err, ERR_IO, "Failed to open '%s': %s", source, strerror(errno));
		if (from >= 0)
			close(from);
		return rv;
	}
	if (S_ISDIR(info.st_mode)) {
		close(from);
		return err_set(err, ERR_INVALID, "'%s' is a directory", source);
	}
	to = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, info.st_mode & 0777);
	if (to < 0)
		rv = err_set(err, ERR_IO, "Failed to create '%s': %s", target, strerror(errno));
	else
		rv = copy_bytes(from, to, source, err);
	close(from);
	if (to >= 0 && close(to) && rv == 0)
		rv = err_set(err, ERR_IO, "Failed to write '%s': %s", target, strerror(errno));
	return rv;
}

static bool is_link(const char *path)
{
	struct stat info;

	return lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
}

/* A file may be made at the path, whose directory is there: what was fetched before may be links,
 * and lead elsewhere. One at the path itself is removed. */
static int check_target(struct fetch *fetch, const char *path, struct err *err)
{
	char *folder = arena_strdup(&fetch->arena, path), *sandbox, *real;
	size_t len;
	bool inside;

	*strrchr(folder, '/') = '\0';
	sandbox = realpath(fetch->directory, NULL);
	real = realpath(folder, NULL);
	len = sandbox ? strlen(sandbox) : 0;
	inside =
		sandbox && real && !strncmp(real, sandbox, len) && (!real[len] || real[len] == '/');
	free(sandbox);
	free(real);
	if (!inside)
		return err_set(err, ERR_INVALID, "'%s' is not inside of the sandbox", path);
	if (is_link(path) && unlink(path))
		return err_set(err, ERR_IO, "Failed to remove the link '%s': %s", path,
			       strerror(errno));
	return 0;
}

/* ---- downloads ----------------------------------------------------------- */

static bool is_net(const char *uri)
{
	static const char *const schemes[] = {"http://", "https://", "ftp://", "ftps://"};

	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++)
		if (!strncasecmp(uri, schemes[i], strlen(schemes[i])))
			return true;
	return false;
}

static int download_net(struct fetch *fetch, const char *uri, const char *target, struct err *err)
{
	long stall = (long)((fetch->stall_timeout + SECOND - 1) / SECOND);
	char *argv[] = {"curl",
			"-s",
			"-S",
			"-g",
			"-L",
			"--proto",
			"=http,https,ftp,ftps",
			"--proto-redir",
			"=http,https,ftp,ftps",
			"--speed-limit",
			"1",
			"--speed-time",
			arena_printf(&fetch->arena, "%ld", stall ? stall : 1),
			"-o",
			(char *)target,
			"-w",
			"%{http_code}",
			"--url",
			(char *)uri,
			NULL};
	bool ftp = !strncasecmp(uri, "ftp", 3);
	struct buf code = BUF_INIT;
	int rv;

	log_info("Downloading resource from '%s' to '%s'", uri, target);
	rv = run_program(argv, NULL, NULL, &code, err);
	if (rv < 0)
		err_wrap(err, rv, "Error downloading resource");
	else if (!code.data || strcmp(code.data, ftp ? "226" : "200"))
		rv = err_set(err, ERR_IO, "Error downloading resource, received %s return code %s",
			     ftp ? "FTP" : "HTTP", code.data ? code.data : "");
	buf_free(&code);
	return rv;
}

static int download_hadoop(struct fetch *fetch, const char *uri, const char *target,
			   struct err *err)
{
	const char *home = fetch->hadoop_home ? fetch->hadoop_home : getenv("HADOOP_HOME");
	char *argv[] = {home ? arena_printf(&fetch->arena, "%s/bin/hadoop", home) : "hadoop",
			"fs",
			"-copyToLocal",
			(char *)uri,
			(char *)target,
			NULL};
	int rv;

	log_info("Downloading resource with Hadoop client from '%s' to '%s'", uri, target);
	rv = run_program(argv, NULL, NULL, NULL, err);
	return rv < 0 ? err_wrap(err, rv, "HDFS copyToLocal failed") : 0;
}

static int download(struct fetch *fetch, const char *uri, const char *target, struct err *err)
{
	const char *path;
	int rv = fetch_local_path(&fetch->arena, uri, fetch->frameworks_home, &path, err);

	if (rv < 0)
		return rv;
	if (path)
		return copy_file(path, target, err);
	if (is_net(uri))
		return download_net(fetch, uri, target, err);
	return download_hadoop(fetch, uri, target, err);
}

/* ---- unpacking ----------------------------------------------------------- */

static bool is_tar(const char *path)
{
	static const char *const names[] = {".tar",	".tgz", ".tar.gz", ".tbz2",
					    ".tar.bz2", ".txz", ".tar.xz"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (str_has_suffix(path, names[i]))
			return true;
	return false;
}

static int unpack_archive(struct fetch *fetch, char *path, struct err *err)
{
	char *directory = (char *)fetch->directory;
	char *tar[] = {"tar", "--no-same-owner", "-x", "-f", path, "-C", directory, NULL};
	char *zip[] = {"unzip", "-o", "-q", path, "-d", directory, NULL};
	char *bsdtar[] = {"bsdtar", "-x", "-f", path, "-C", directory, NULL};
	int rv;

	if (is_tar(path)) {
		rv = run_program(tar, NULL, NULL, NULL, err);
	} else {
		rv = run_program(zip, NULL, NULL, NULL, err);
		if (rv == ERR_NOT_FOUND && !run_program(bsdtar, NULL, NULL, NULL, NULL))
			rv = 0;
	}
	if (rv < 0)
		return err_wrap(err, rv, "Failed to extract archive '%s' to '%s'", path, directory);
	return 0;
}

static int unpack_gz(struct fetch *fetch, char *path, struct err *err)
{
	char *gzip[] = {"gzip", "-d", "-c", NULL};
	const char *name = strrchr(path, '/') + 1;
	char *target = arena_printf(&fetch->arena, "%s/%.*s", fetch->directory,
				    (int)strlen(name) - 3, name);
	int rv = check_target(fetch, target, err);

	if (rv == 0)
		rv = run_program(gzip, path, target, NULL, err);
	return rv < 0 ? err_wrap(err, rv, "Failed to extract '%s'", path) : 0;
}

static int fetcher_unpack(struct fetch *fetch, char *path, const char *uri, struct err *err)
{
	int rv;

	if (is_tar(path) || str_has_suffix(path, ".zip")) {
		rv = unpack_archive(fetch, path, err);
	} else if (str_has_suffix(path, ".gz")) {
		rv = unpack_gz(fetch, path, err);
	} else {
		log_warning("Copying instead of extracting resource from URI with 'extract' flag, "
			    "because it does not seem to be an archive: %s",
			    uri);
		return 0;
	}
	if (rv == 0)
		log_info("Extracted '%s' into '%s'", path, fetch->directory);
	return rv;
}

/* The directories on the way to `path`, one after the other: none is made behind a link that leads
 * elsewhere. */
static int make_inside(struct fetch *fetch, char *path, struct err *err)
{
	int rv = 0;

	for (char *at = path + strlen(fetch->directory) + 1; rv == 0; at++) {
		char c = *at;

		if (c != '/' && c)
			continue;
		*at = '\0';
		rv = is_link(path) ? 0 : check_target(fetch, path, err);
		if (rv == 0 && mkdir(path, 0755) && errno != EEXIST)
			rv = err_set(err, ERR_IO, "Failed to make '%s': %s", path, strerror(errno));
		*at = c;
		if (!c)
			break;
	}
	return rv;
}

/* ---- main ---------------------------------------------------------------- */

static int fetch_one(struct fetch *fetch, const Mesos__CommandInfo__URI *uri, struct err *err)
{
	const char *value = uri->value + strspn(uri->value, " \t\n\v\f\r"), *name;
	char *path, *slash;
	int rv = fetch_basename(value, &name, err);

	log_info("Fetching '%s' directly into the sandbox directory", value);
	if (rv < 0)
		return rv;
	if (uri->output_file)
		name = uri->output_file;
	path = arena_printf(&fetch->arena, "%s/%s", fetch->directory, name);
	slash = strrchr(path, '/');
	if (strchr(name, '/')) {
		*slash = '\0';
		rv = make_inside(fetch, path, err);
		*slash = '/';
	}
	if (rv < 0)
		return err_wrap(err, rv, "Unable to create the directory of '%s' in sandbox", name);
	rv = check_target(fetch, path, err);
	if (rv == 0)
		rv = download(fetch, value, path, err);
	if (rv < 0)
		return rv;
	if (uri->has_executable && uri->executable) {
		if (chmod(path, 0755))
			return err_set(err, ERR_IO, "Failed to chmod executable '%s': %s", path,
				       strerror(errno));
	} else if (!uri->has_extract || uri->extract) {
		rv = fetcher_unpack(fetch, path, value, err);
	}
	if (rv == 0)
		log_info("Fetched '%s' to '%s'", value, path);
	return rv;
}

static int read_command(struct arena *arena, Mesos__CommandInfo **command, struct err *err)
{
	struct buf input = BUF_INIT;
	char piece[16384];
	ssize_t got;

	while ((got = read(STDIN_FILENO, piece, sizeof(piece))) > 0 && input.len < INPUT_MAX)
		buf_append(&input, piece, (size_t)got);
	*command = proto_unpack(&mesos__command_info__descriptor, arena,
				input.data ? input.data : "", input.len, err);
	buf_free(&input);
	return *command ? fetch_validate(*command, err) : ERR_INVALID;
}

static int parse_flags(struct fetch *fetch, struct flags *flags, int argc, char **argv,
		       struct err *err)
{
#define AT(member) offsetof(struct fetch, member)
	static const struct flag table[] = {
		{"directory", NULL, FLAG_PATH, AT(directory), NULL, "Where to fetch to.", NULL,
		 NULL},
		{"frameworks_home", NULL, FLAG_PATH, AT(frameworks_home), NULL,
		 "Directory of URIs that are relative paths.", NULL, NULL},
		{"hadoop_home", NULL, FLAG_PATH, AT(hadoop_home), NULL,
		 "Where hadoop is installed.", NULL, NULL},
		{"stall_timeout", NULL, FLAG_DURATION, AT(stall_timeout), "1mins",
		 "A download this long without a byte is given up.", NULL, NULL},
		{NULL, NULL, FLAG_IGNORED, 0, NULL, NULL, NULL, NULL},
	};
#undef AT
	struct buf warnings = BUF_INIT;
	int rv;

	flags->table = xmemdup(table, sizeof(table));
	flags->target = fetch;
	flags->usage = "Usage: mesita fetch --directory=DIR [flags] < packed CommandInfo";
	rv = flags_parse(flags, argc, argv, NULL, &warnings, err);
	buf_free(&warnings);
	if (rv == 0 && !fetch->directory)
		rv = err_set(err, ERR_INVALID, "Missing required option --directory");
	return rv;
}

int fetch_main(int argc, char **argv)
{
	struct fetch fetch = {0};
	struct flags flags = {0};
	Mesos__CommandInfo *command = NULL;
	struct err err = {""};
	int rv;

	arena_init(&fetch.arena);
	rv = parse_flags(&fetch, &flags, argc, argv, &err);
	if (rv == 0)
		rv = read_command(&fetch.arena, &command, &err);
	if (rv < 0)
		log_error("%s", err.text);
	for (size_t i = 0; rv == 0 && i < command->n_uris; i++) {
		rv = fetch_one(&fetch, command->uris[i], &err);
		if (rv < 0)
			log_error("Failed to fetch '%s': %s", command->uris[i]->value, err.text);
	}
	if (rv == 0)
		log_info("Successfully fetched all URIs into '%s'", fetch.directory);
	flags_free(&flags);
	free(flags.table);
	arena_free(&fetch.arena);
	return rv < 0 ? 1 : 0;
}
