/* The masters of a cluster: one, or several with a ZooKeeper that elects the one that leads. */
#include "cli/local/local.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/executor/guardian.h"

/* Where Debian's libzookeeper-java has it. */
#define ZOOKEEPER_JAR "/usr/share/java/zookeeper.jar"
#define ZOOKEEPER_MAIN "org.apache.zookeeper.server.quorum.QuorumPeerMain"
#define SESSION "4secs" /* until a master that was killed is followed */
/* A master that ends is started again, as by a supervisor; its pid is for those who end it. */
#define SUPERVISE "while :; do \"$@\" & echo $! >\"$0\"; wait $!; done"

void local_forget_ports(const struct cluster *c)
{
	for (int i = 1; i <= c->flags->masters; i++) {
		char *path = local_master_path(c, i, "port");

		unlink(path);
		free(path);
	}
}

char *local_master_path(const struct cluster *c, int number, const char *what)
{
	return c->group ? xprintf("%s/master-%d.%s", c->work_dir, number, what)
			: xprintf("%s/master.%s", c->work_dir, what);
}

/* ---- ZooKeeper -------------------------------------------------------------------- */

/* One that nobody has at the moment. */
static int free_port(struct err *err)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = 0;

	if (fd >= 0 && !bind(fd, (struct sockaddr *)&address, len) &&
	    !getsockname(fd, (struct sockaddr *)&address, &len))
		port = ntohs(address.sin_port);
	if (!port)
		err_set(err, ERR_IO, "no free port for ZooKeeper: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return port ? port : ERR_IO;
}

static int write_configuration(const struct cluster *c, const char *path, int port, struct err *err)
{
	FILE *file = fopen(path, "w");

	if (file)
		fprintf(file,
			"tickTime=500\ndataDir=%s/zookeeper\nclientPort=%d\n"
			"clientPortAddress=127.0.0.1\nadmin.enableServer=false\n",
			c->work_dir, port);
	return !file || fclose(file)
		       ? err_set(err, ERR_IO, "cannot write '%s': %s", path, strerror(errno))
		       : 0;
}

/* The shell only looks for java in the PATH. */
static int start_java(const struct cluster *c, char *configuration, struct err *err)
{
	char *log = local_log_path(c, "zookeeper");
	char *argv[] = {"/bin/sh",     "-c",	      "exec java \"$@\"",
			"java",	       "-Xmx256m",    "-XX:+UseSerialGC",
			"-cp",	       ZOOKEEPER_JAR, ZOOKEEPER_MAIN,
			configuration, NULL};
	int rv = guardian_start(c->alive, argv, log, err);

	free(log);
	return rv;
}

static int start_zookeeper(struct cluster *c, struct err *err)
{
	char *directory = xprintf("%s/zookeeper", c->work_dir),
	     *configuration = xprintf("%s/zookeeper.cfg", c->work_dir);
	int port = free_port(err), rv = port < 0 ? port : 0;

	if (rv == 0 && mkdir(directory, 0755) < 0 && errno != EEXIST)
		rv = err_set(err, ERR_IO, "cannot make '%s': %s", directory, strerror(errno));
	if (rv == 0)
		rv = write_configuration(c, configuration, port, err);
	if (rv == 0)
		rv = start_java(c, configuration, err);
	if (rv == 0)
		c->group = xprintf("zk://127.0.0.1:%d/mesos", port);
	free(configuration);
	free(directory);
	return rv;
}

bool local_has_zookeeper(const struct local_flags *flags)
{
	return flags->masters > 1 || flags->zookeeper;
}

int local_check_zookeeper(struct err *err)
{
	if (!access(ZOOKEEPER_JAR, R_OK) && !system("command -v java >/dev/null"))
		return 0;
	return err_set(err, ERR_NOT_FOUND,
		       "ZooKeeper is not there: apt-get install libzookeeper-java "
		       "openjdk-17-jre-headless");
}

/* ---- masters ------------------------------------------------------------------------ */

static int start_master(struct cluster *c, int number, struct err *err)
{
	const struct local_flags *f = c->flags;
	char name[32] = "master";
	char *log, *pid = local_master_path(c, number, "pid"),
		   *port = local_master_path(c, number, "port");
	int rv;

	if (c->group)
		snprintf(name, sizeof(name), "master-%d", number);
	log = local_log_path(c, name);
	char *argv[] = {"/bin/sh",
			"-c",
			SUPERVISE,
			pid,
			c->program,
			"master",
			xprintf("--ip=%s", f->ip),
			xprintf("--port=%d", (int)(f->port ? f->port + number - 1 : 0)),
			xprintf("--work_dir=%s/%s", c->work_dir, name),
			xprintf("--port_file=%s", port),
			"--hostname=localhost",
			f->check_origin ? "--check_origin" : "--no-check_origin",
			xprintf("--allocation_interval=%s", f->allocation_interval),
			c->group ? xprintf("--zk=%s", c->group) : NULL,
			"--zk_session_timeout=" SESSION,
			NULL};
	/* The end of the only one is the end of the cluster. */
	rv = guardian_start(c->alive, c->group ? argv : argv + 4, log, err);
	for (int i = 6; i < 10; i++)
		free(argv[i]);
	free(argv[12]);
	free(argv[13]);
	free(port);
	free(pid);
	free(log);
	return rv;
}

int local_start_masters(struct cluster *c, struct err *err)
{
	int rv = local_has_zookeeper(c->flags) ? start_zookeeper(c, err) : 0;

	local_forget_ports(c);
	for (int i = 1; rv == 0 && i <= c->flags->masters; i++)
		rv = start_master(c, i, err);
	return rv;
}
