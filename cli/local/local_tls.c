/* TLS for a cluster: a throwaway authority and what it signs. */
#include "cli/local/local.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static char *tls_path(const struct cluster *c, const char *name)
{
	return xprintf("%s/tls/%s.pem", c->work_dir, name);
}

/* The environment of everything that is started later, this command's own connections too. */
static void set_tls_environment(const struct cluster *c)
{
	static const struct {
		const char *name, *file;
	} files[] = {{"CA_FILE", "ca"}, {"CERT_FILE", "cert"}, {"KEY_FILE", "key"}};
	static const char *const truths[] = {"ENABLED", "VERIFY_SERVER_CERT", "VERIFY_IPADD"};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *name = xprintf("LIBPROCESS_SSL_%s", files[i].name);
		char *path = tls_path(c, files[i].file);

		setenv(name, path, 1);
		free(name);
		free(path);
	}
	for (size_t i = 0; i < sizeof(truths) / sizeof(truths[0]); i++) {
		char *name = xprintf("LIBPROCESS_SSL_%s", truths[i]);

		setenv(name, "true", 1);
		free(name);
	}
}

/* A certificate for the master's address, and those of the agents once the master's is known. */
int local_issue_certificate(struct cluster *c, struct err *err)
{
	size_t count =
		c->master && local_has_own_addresses(c->flags) ? (size_t)c->flags->agents : 0;
	const char **addresses = xcalloc(count + 1, sizeof(*addresses));
	char(*agents)[INET_ADDRSTRLEN] = xcalloc(count + 1, sizeof(*agents));
	char *cert = tls_path(c, "cert"), *key = tls_path(c, "key");
	int rv;

	addresses[0] = c->flags->ip;
	for (size_t i = 0; i < count; i++) {
		local_agent_address(c, (int)i + 1, agents[i]);
		addresses[i + 1] = agents[i];
	}
	rv = tls_authority_issue(c->authority, addresses, count + 1, cert, key, err);
	free(cert);
	free(key);
	free(agents);
	free(addresses);
	return rv;
}

int local_prepare_tls(struct cluster *c, struct err *err)
{
	char *directory = xprintf("%s/tls", c->work_dir), *path = tls_path(c, "ca");
	int rv = 0;

	if (mkdir(directory, 0755) < 0 && errno != EEXIST)
		rv = err_set(err, ERR_IO, "cannot make %s: %s", directory, strerror(errno));
	if (rv == 0)
		rv = tls_authority_create(path, &c->authority, err);
	if (rv == 0)
		rv = local_issue_certificate(c, err);
	if (rv == 0)
		set_tls_environment(c);
	free(directory);
	free(path);
	return rv;
}
