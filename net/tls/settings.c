#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "net/tls/tls.h"

#define PREFIX "LIBPROCESS_SSL_"
#define VERIFY_DEPTH 4 /* of a chain, as in libprocess */
#define VERIFY_DEPTH_MAX 100

static int read_flag(const char *name, bool *out, struct err *err)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = {{"true", true}, {"1", true}, {"false", false}, {"0", false}};
	const char *text = getenv(name);

	if (!text)
		return 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcasecmp(text, words[i].word)) {
			*out = words[i].value;
			return 0;
		}
	}
	return err_set(err, ERR_INVALID, "%s is neither true nor false: '%s'", name, text);
}

static int read_flags(struct tls_settings *out, struct err *err)
{
	const struct {
		const char *name;
		bool *value;
	} flags[] = {
		{PREFIX "ENABLED", &out->enabled},
		{PREFIX "SUPPORT_DOWNGRADE", &out->support_downgrade},
		{PREFIX "VERIFY_CERT", &out->verify_server},
		{PREFIX "VERIFY_SERVER_CERT", &out->verify_server},
		{PREFIX "REQUIRE_CERT", &out->require_client},
		{PREFIX "REQUIRE_CLIENT_CERT", &out->require_client},
		{PREFIX "VERIFY_IPADD", &out->verify_ip},
		{PREFIX "ENABLE_TLS_V1_0", &out->versions[TLS_1_0]},
		{PREFIX "ENABLE_TLS_V1_1", &out->versions[TLS_1_1]},
		{PREFIX "ENABLE_TLS_V1_2", &out->versions[TLS_1_2]},
		{PREFIX "ENABLE_TLS_V1_3", &out->versions[TLS_1_3]},
	};
	int rv = 0;

	for (size_t i = 0; rv == 0 && i < sizeof(flags) / sizeof(flags[0]); i++)
		rv = read_flag(flags[i].name, flags[i].value, err);
	return rv;
}

static int read_depth(int *out, struct err *err)
{
	const char *text = getenv(PREFIX "VERIFY_DEPTH");
	char *end;
	long value;

	if (!text)
		return 0;
	value = strtol(text, &end, 10);
	if (end == text || *end || value < 0 || value > VERIFY_DEPTH_MAX)
		return err_set(err, ERR_INVALID, PREFIX "VERIFY_DEPTH is no number up to %d: '%s'",
			       VERIFY_DEPTH_MAX, text);
	*out = (int)value;
	return 0;
}

static int read_scheme(bool *openssl_names, struct err *err)
{
	const char *text = getenv(PREFIX "HOSTNAME_VALIDATION_SCHEME");

	*openssl_names = text && !strcmp(text, "openssl");
	if (!text || *openssl_names || !strcmp(text, "legacy"))
		return 0;
	return err_set(err, ERR_INVALID,
		       PREFIX "HOSTNAME_VALIDATION_SCHEME is neither legacy nor openssl: '%s'",
		       text);
}

/* Flags of libprocess take file:// as well. */
static const char *read_path(const char *name)
{
	const char *text = getenv(name);

	if (text && str_has_prefix(text, "file://"))
		text += strlen("file://");
	return text && *text ? text : NULL;
}

int tls_settings_read(struct tls_settings *out, struct err *err)
{
	const char *curves = getenv(PREFIX "ECDH_CURVES");
	int rv;

	*out = (struct tls_settings){
		.cert_file = read_path(PREFIX "CERT_FILE"),
		.key_file = read_path(PREFIX "KEY_FILE"),
		.ca_file = read_path(PREFIX "CA_FILE"),
		.ca_dir = read_path(PREFIX "CA_DIR"),
		.verify_depth = VERIFY_DEPTH,
		.ciphers = getenv(PREFIX "CIPHERS"),
		.curves = curves ? curves : getenv(PREFIX "ECDH_CURVE"),
		.versions = {[TLS_1_2] = true, [TLS_1_3] = true},
	};
	if (out->curves && !strcmp(out->curves, "auto"))
		out->curves = NULL;
	rv = read_flags(out, err);
	if (rv == 0)
		rv = read_depth(&out->verify_depth, err);
	if (rv == 0)
		rv = read_scheme(&out->openssl_names, err);
	out->verify_server |= out->require_client;
	return rv;
}
