/* The parts of `mesita local`: its cluster, and what is done to it. */
#ifndef CLI_LOCAL_LOCAL_H
#define CLI_LOCAL_LOCAL_H

#include <arpa/inet.h>
#include <signal.h>

#include "cli/cli.h"
#include "net/tls/authority.h"

#define LOCAL_AGENTS_MAX 1000
#define LOCAL_MASTERS_MAX 9

struct local_flags {
	int64_t agents;
	int64_t masters;
	bool zookeeper; /* several masters have one in any case */
	const char *ip;
	int64_t port;
	const char *resources;
	const char *work_dir;
	const char *allocation_interval;
	bool own_addresses;
	bool check_origin;
	bool tls;
	bool json;
	bool verbose;
};

struct cluster {
	const struct local_flags *flags;
	char *work_dir;
	bool own_dir; /* made by us: removed at the end */
	char *program;
	char *master; /* "ip:port" of the first, which need not lead */
	char *group;  /* where several are found, "zk://..."; or NULL */
	int alive;    /* our end of the guardian's channel */
	pid_t guardian;
	struct tls_authority *authority; /* with --tls */
	sigset_t signals;		 /* those that end us, and SIGCHLD: blocked, waited for */
	bool interrupted;
};

/* -- local_start.c -- */
int local_make_work_dir(struct cluster *c, struct err *err);
/* Heap. */
char *local_log_path(const struct cluster *c, const char *name);
int local_start_agent(struct cluster *c, int number, struct err *err);
/* Numbers begin with 1. */
void local_agent_address(const struct cluster *c, int number, char ip[INET_ADDRSTRLEN]);
bool local_has_own_addresses(const struct local_flags *flags);

/* -- local_masters.c -- */
bool local_has_zookeeper(const struct local_flags *flags);
/* Says how to install it if it is not there. */
int local_check_zookeeper(struct err *err);
/* What a cluster before us left in --work_dir says where that one was. */
void local_forget_ports(const struct cluster *c);
int local_start_masters(struct cluster *c, struct err *err);
/* The file of a master (from 1) that holds its "port", or "pid" if there are several. Heap. */
char *local_master_path(const struct cluster *c, int number, const char *what);

/* -- local_tls.c -- */
/* An authority, a certificate of the master, and the environment of all that is started. */
int local_prepare_tls(struct cluster *c, struct err *err);
/* For the addresses that are known by now. */
int local_issue_certificate(struct cluster *c, struct err *err);

/* -- local_wait.c -- */
bool local_guardian_alive(const struct cluster *c);
int local_wait_for_master(struct cluster *c, struct err *err);
/* The agents as the master lists them, in the arena; NULL with `err`. */
const struct json *local_wait_for_agents(struct cluster *c, struct arena *arena, struct err *err);

/* -- local_say.c -- */
void local_say(const struct cluster *c, const struct json *slaves);

#endif
