/* What plugins tell of addresses and names becomes files that the container sees in /etc. Results
 * up to version 0.2.0 of the interface have `ip4` and `ip6`, later ones a list `ips`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/containers/network/network_internal.h"

static void each_of(const struct json *result, const char *name, const char *field, bool ipv6,
		    void (*each)(void *context, const char *address, bool ipv6), void *context)
{
	const struct json *one = json_get(result, name);
	const char *address = one ? json_get_string(one, field) : "";

	if (*address)
		each(context, address, ipv6);
}

void network_each_address(const struct json *result,
			  void (*each)(void *context, const char *address, bool ipv6),
			  void *context)
{
	const struct json *list = json_get(result, "ips");

	each_of(result, "ip4", "ip", false, each, context);
	each_of(result, "ip6", "ip", true, each, context);
	for (size_t i = 0; list && list->type == JSON_ARRAY && i < list->count; i++) {
		const char *address = json_get_string(&list->items[i], "address");

		if (*address)
			each(context, address, strchr(address, ':') != NULL);
	}
}

/* ---- hosts ------------------------------------------------------------------------ */

struct hosts {
	struct buf text;
	const char *hostname;
};

static void add_host(void *context, const char *address, bool ipv6)
{
	struct hosts *hosts = context;

	(void)ipv6;
	buf_printf(&hosts->text, "%.*s %s\n", (int)strcspn(address, "/"), address, hosts->hostname);
}

/* ---- resolv.conf -------------------------------------------------------------------- */

static void add_words(struct buf *out, const char *keyword, const struct json *list)
{
	if (!list || list->type != JSON_ARRAY || !list->count)
		return;
	buf_puts(out, keyword);
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].type == JSON_STRING)
			buf_printf(out, " %s", list->items[i].text.data);
	buf_putc(out, '\n');
}

static void add_names(struct buf *out, const struct json *dns)
{
	const struct json *servers = json_get(dns, "nameservers");

	if (*json_get_string(dns, "domain"))
		buf_printf(out, "domain %s\n", json_get_string(dns, "domain"));
	add_words(out, "search", json_get(dns, "search"));
	add_words(out, "options", json_get(dns, "options"));
	for (size_t i = 0; servers && servers->type == JSON_ARRAY && i < servers->count; i++)
		if (servers->items[i].type == JSON_STRING)
			buf_printf(out, "nameserver %s\n", servers->items[i].text.data);
}

/* Without it the container has the machine's. */
static int write_resolver(const char *path, const struct json *const *results, size_t count,
			  struct err *err)
{
	struct buf text = BUF_INIT;
	int rv = 0;

	for (size_t i = 0; i < count; i++) {
		const struct json *dns = json_get(results[i], "dns");

		if (dns)
			add_names(&text, dns);
	}
	if (text.len)
		rv = network_file_write(path, (struct slice){text.data, text.len}, err);
	buf_free(&text);
	return rv;
}

int network_files_write(const char *directory, const char *hostname,
			const struct json *const *results, size_t count, struct err *err)
{
	struct hosts hosts = {.hostname = hostname};
	char *hosts_path = xprintf("%s/hosts", directory);
	char *name_path = xprintf("%s/hostname", directory);
	char *resolver_path = xprintf("%s/resolv.conf", directory);
	struct buf name = BUF_INIT;
	int rv;

	buf_puts(&hosts.text, "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n");
	for (size_t i = 0; i < count; i++)
		network_each_address(results[i], add_host, &hosts);
	buf_printf(&name, "%s\n", hostname);
	rv = network_file_write(hosts_path, (struct slice){hosts.text.data, hosts.text.len}, err);
	if (rv == 0)
		rv = network_file_write(name_path, (struct slice){name.data, name.len}, err);
	if (rv == 0)
		rv = write_resolver(resolver_path, results, count, err);
	buf_free(&name);
	buf_free(&hosts.text);
	free(resolver_path);
	free(name_path);
	free(hosts_path);
	return rv;
}
