/* Saying where a cluster is. */
#include "cli/local/local.h"

#include <stdio.h>
#include <stdlib.h>

static const char *pid_address(const char *pid)
{
	const char *at = strchr(pid, '@');

	return at ? at + 1 : pid;
}

static void say_json(const struct cluster *c, const struct json *slaves)
{
	struct buf line = BUF_INIT;
	struct json_writer w;

	jw_init(&w, &line);
	jw_begin_object(&w);
	jw_kv_string(&w, "master", c->master);
	if (c->group)
		jw_kv_string(&w, "zookeeper", c->group);
	jw_kv_int(&w, "pid", getpid());
	jw_kv_string(&w, "work_dir", c->work_dir);
	if (c->flags->tls)
		jw_kv_string(&w, "ca_file", getenv("LIBPROCESS_SSL_CA_FILE"));
	jw_key(&w, "agents");
	jw_begin_array(&w);
	for (size_t i = 0; i < slaves->count; i++) {
		jw_begin_object(&w);
		jw_kv_string(&w, "address", pid_address(json_get_string(&slaves->items[i], "pid")));
		jw_kv_string(&w, "id", json_get_string(&slaves->items[i], "id"));
		jw_end_object(&w);
	}
	jw_end_array(&w);
	jw_end_object(&w);
	puts(line.data);
	buf_free(&line);
}

/* What to add to the other commands so that they find this cluster. */
static char *master_flag(const struct cluster *c)
{
	if (c->group)
		return xprintf(" --master=%s", c->group);
	if (c->flags->tls)
		return xprintf(" --master=https://%s", c->master);
	return strcmp(c->master, CLI_DEFAULT_MASTER) ? xprintf(" --master=%s", c->master)
						     : xstrdup("");
}

static void say_text(const struct cluster *c, const struct json *slaves)
{
	char *flag = master_flag(c);

	printf("A cluster of %zu agent%s is up, its %s %s.\n", slaves->count,
	       slaves->count == 1 ? "" : "s", c->group ? "masters are found by" : "master is at",
	       c->group ? c->group : c->master);
	printf("In a browser: http%s://%s/\n", c->flags->tls ? "s" : "", c->master);
	printf("Logs and sandboxes: %s%s\n\n", c->work_dir,
	       c->own_dir ? " (removed at the end)" : "");
	printf("In another terminal:\n");
	if (c->flags->tls)
		printf("  export LIBPROCESS_SSL_CA_FILE=%s/tls/ca.pem\n", c->work_dir);
	printf("  mesita run%s --command='echo hello' --instances=6\n", flag);
	printf("  mesita ps%s --all\n", flag);
	if (c->flags->tls)
		printf("  curl --cacert $LIBPROCESS_SSL_CA_FILE https://%s/state\n", c->master);
	if (c->group)
		printf("  mesita resolve %s      # says which master leads\n"
		       "  kill -9 $(cat %s/master-1.pid)    # one of %d; it is started again\n",
		       c->group, c->work_dir, (int)c->flags->masters);
	printf("\nCtrl-C ends the cluster and everything in it.\n");
	free(flag);
}

void local_say(const struct cluster *c, const struct json *slaves)
{
	if (c->flags->json)
		say_json(c, slaves);
	else
		say_text(c, slaves);
	fflush(stdout);
}
