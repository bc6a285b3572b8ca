#include "auth/credentials.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json/json.h"
#include "base/log/log.h"
#include "base/memory/arena.h"
#include "base/table.h"

struct credential {
	UT_hash_handle hh;
	char *principal, *secret;
};

struct credentials {
	struct credential *table; /* by principal */
};

static void credentials_add(struct credentials *c, const char *principal, size_t principal_len,
			    const char *secret, size_t secret_len)
{
	struct credential *one;

	HASH_FIND(hh, c->table, principal, principal_len, one);
	if (one)
		return;
	one = xcalloc(1, sizeof(*one));
	one->principal = xstrndup(principal, principal_len);
	one->secret = xstrndup(secret, secret_len);
	HASH_ADD_KEYPTR(hh, c->table, one->principal, principal_len, one);
}

/* Lines of two words. */
static bool take_lines(struct credentials *c, const char *text)
{
	for (text += strspn(text, "\r\n"); *text; text += strspn(text, "\r\n")) {
		size_t principal = strcspn(text, " \t\r\n");
		size_t gap = strspn(text + principal, " \t");
		const char *secret = text + principal + gap;
		size_t len = strcspn(secret, " \t\r\n");

		if (!principal || !gap || !len)
			return false;
		credentials_add(c, text, principal, secret, len);
		text += strcspn(text, "\r\n");
	}
	return c->table != NULL;
}

static bool take_json(struct credentials *c, const struct json *json)
{
	const struct json *list = json_get(json, "credentials");

	if (!list || list->type != JSON_ARRAY)
		return false;
	for (size_t i = 0; i < list->count; i++) {
		const char *principal = json_get_string(&list->items[i], "principal");
		const char *secret = json_get_string(&list->items[i], "secret");

		if (!*principal)
			return false;
		credentials_add(c, principal, strlen(principal), secret, strlen(secret));
	}
	return c->table != NULL;
}

static bool credentials_parse(struct credentials *c, const char *text, size_t len)
{
	struct arena arena = {0};
	struct json *json;
	bool good = !json_parse(&arena, text, len, &json, NULL) ? take_json(c, json)
								: take_lines(c, text);

	arena_free(&arena);
	return good;
}

static void warn_of_readers(const char *path, const char *flag)
{
	struct stat facts;

	if (!stat(path, &facts) && facts.st_mode & (S_IROTH | S_IWOTH))
		log_warning("everybody may read or write the file '%s' of --%s: chmod 600 it", path,
			    flag);
}

static char *read_all(const char *path, size_t *len)
{
	char *text = xmalloc(CREDENTIALS_FILE_MAX + 1);
	FILE *file = fopen(path, "re");

	*len = file ? fread(text, 1, CREDENTIALS_FILE_MAX + 1, file) : 0;
	if (!file || ferror(file)) {
		int why = errno;

		if (file)
			fclose(file);
		free(text);
		errno = why;
		return NULL;
	}
	fclose(file);
	return text;
}

int credentials_load(const char *path, const char *flag, struct credentials **out, struct err *err)
{
	struct credentials *c;
	size_t len;
	char *text = read_all(path, &len);

	if (!text)
		return err_set(err, ERR_INVALID,
			       "Failed to read credentials file '%s': %s (see --%s flag)", path,
			       strerror(errno), flag);
	c = xcalloc(1, sizeof(*c));
	text[len <= CREDENTIALS_FILE_MAX ? len : 0] = '\0';
	if (len > CREDENTIALS_FILE_MAX || strlen(text) != len || !credentials_parse(c, text, len)) {
		free(text);
		credentials_free(c);
		return err_set(err, ERR_INVALID,
			       "Credentials file '%s' must contain at least one credential, as "
			       "a line 'principal secret' or as JSON (see --%s flag)",
			       path, flag);
	}
	free(text);
	warn_of_readers(path, flag);
	*out = c;
	return 0;
}

/* Of {"principal": .., "secret": ..}, or of a single line. */
static bool take_one(struct credentials *c, const char *text, size_t len)
{
	struct arena arena = {0};
	struct json *json;
	bool good;

	if (json_parse(&arena, text, len, &json, NULL)) {
		good = take_lines(c, text);
	} else {
		const char *principal = json_get_string(json, "principal");
		const char *secret = json_get_string(json, "secret");

		good = *principal;
		if (good)
			credentials_add(c, principal, strlen(principal), secret, strlen(secret));
	}
	arena_free(&arena);
	return good && HASH_COUNT(c->table) == 1;
}

int credential_load(const char *path, char **principal, char **secret, struct err *err)
{
	struct credentials *c;
	size_t len;
	char *text = read_all(path, &len);
	bool good;

	if (!text)
		return err_set(err, ERR_INVALID, "Cannot read the file '%s' of --credential: %s",
			       path, strerror(errno));
	c = xcalloc(1, sizeof(*c));
	text[len <= CREDENTIALS_FILE_MAX ? len : 0] = '\0';
	good = len <= CREDENTIALS_FILE_MAX && strlen(text) == len && take_one(c, text, len);
	if (good) {
		*principal = xstrdup(c->table->principal);
		*secret = xstrdup(c->table->secret);
		warn_of_readers(path, "credential");
	}
	free(text);
	credentials_free(c);
	if (good)
		return 0;
	return err_set(err, ERR_INVALID,
		       "The file '%s' of --credential must hold a principal and a secret", path);
}

void credentials_free(struct credentials *c)
{
	struct credential *one, *next;

	if (!c)
		return;
	HASH_ITER (hh, c->table, one, next) {
		HASH_DEL(c->table, one);
		free(one->principal);
		free(one->secret);
		free(one);
	}
	free(c);
}

/* Looks at every byte of what was given, whatever they are. */
bool credentials_same(const char *right, const char *given)
{
	size_t len = strlen(right), given_len = strlen(given);
	unsigned difference = len != given_len;

	for (size_t i = 0; i < given_len; i++)
		difference |= (unsigned char)given[i] ^ (unsigned char)right[len ? i % len : 0];
	return !difference;
}

const char *credentials_secret(const struct credentials *c, const char *principal)
{
	struct credential *one;

	if (!c)
		return NULL;
	HASH_FIND_STR(c->table, principal, one);
	return one ? one->secret : NULL;
}

bool credentials_match(const struct credentials *c, const char *principal, const char *secret)
{
	const char *right = credentials_secret(c, principal);

	/* Of nobody as long as of somebody. */
	return credentials_same(right ? right : "", secret) && right;
}
