/* The subcommands of `mesita` and what they share. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/flags/flags.h"
#include "base/json/json.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"

#define CLI_DEFAULT_MASTER "127.0.0.1:5050"
#define CLI_DEFAULT_PORT 5050

/* Each takes the arguments behind its name and returns the exit status. */
int cmd_local(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_execute(int argc, char **argv); /* mesos-execute */
int cmd_ps(int argc, char **argv);
int cmd_logs(int argc, char **argv);
int cmd_kill(int argc, char **argv);
int cmd_exec(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_demo(int argc, char **argv);
int cmd_resolve(int argc, char **argv); /* mesos-resolve */
int cmd_registry(int argc, char **argv);
int executor_main(int argc, char **argv);
int default_executor_main(int argc, char **argv);

/* Parses flags for a subcommand: prints warnings and errors to standard error and
 * the help to standard output. Returns 0 to go on, otherwise `*status` is the exit
 * status. `table` is the caller's constant table of `count` rows, the last one
 * empty; a writable copy lives in `flags`. */
int cli_flags(struct flags *flags, const struct flag *table, size_t count, void *target,
	      const char *usage, int argc, char **argv, int *status);
void cli_flags_free(struct flags *flags);
/* Complains about arguments that are no flags; 0 if there are none. */
int cli_no_arguments(const struct flags *flags, const char *command);

/* One HTTP exchange, blocking; a GET follows redirects to the leading master. `address`
 * is "host:port". Returns the status, or a negative code with `err` set when there is no
 * answer. `body` is the answer's. */
/* What `cli_http` says from now on to masters and agents that ask who calls; NULL = nothing. The
 * rows are for the flags of a command. */
#define CLI_LOGIN(type)                                                                            \
	{"principal", NULL,                                                                        \
	 FLAG_STRING, offsetof(type, principal),                                                   \
	 NULL,	      "Who to be where the cluster asks for it.",                                  \
	 NULL,	      NULL},                                                                       \
	{                                                                                          \
		"secret", NULL, FLAG_STRING, offsetof(type, secret), NULL,                         \
			"The secret of --principal (file:///path reads a file).", NULL, NULL       \
	}
void cli_log_in(const char *principal, const char *secret);
/* That as the value of an Authorization header, or NULL. */
const char *cli_authorization(void);
/* Clients of this command connect with TLS if the first address is an https:// URL or the
 * environment says so (LIBPROCESS_SSL_ENABLED). `cli_http` does it itself. */
int cli_secure(const char *address, struct err *err);
int cli_http(const char *address, const char *method, const char *path, const char *form,
	     struct buf *body, struct err *err);
/* The master that leads, "ip:port", heap. ERR_NOT_FOUND after `timeout` (ns). */
int cli_find_leader(const char *source, int64_t timeout, char **out, struct err *err);
/* The address of a master that is given as one, as zk://servers/path or as file://path. Heap. */
int cli_find_master(const char *address, char **out, struct err *err);
/* The one that was found does not answer, or does not lead: it is looked for again. */
void cli_forget_master(void);
/* GET of a JSON document, in the arena; NULL with `err` set (status other than 200,
 * no JSON). */
const struct json *cli_get_json(struct arena *arena, const char *address, const char *path,
				struct err *err);
/* The absolute path of this program. */
char *cli_self_path(void);

/* Whether the name of a task's state ("TASK_FINISHED") says that it is over. A task whose
 * agent is unreachable is not; what is no state at all is. */
bool cli_state_over(const char *state);

/* A table for people: columns as wide as their widest cell. */
struct cli_table {
	struct arena arena;
	const char **cells;
	size_t columns;
	size_t count;
	size_t cap;
	size_t width_max; /* of a line, 0 = any; the last column is cut to it */
};

void cli_table_init(struct cli_table *table, size_t columns);
void cli_table_add(struct cli_table *table,
		   const char *cell);	       /* copied, control bytes shown as '?' */
void cli_table_print(struct cli_table *table); /* to standard output; frees */

#endif
