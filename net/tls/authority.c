#include "net/tls/authority.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory/arena.h"
#include "net/tls/openssl.h"

#define VALID_DAYS 365
#define EARLIER_SECONDS 3600 /* for clocks that are behind */

struct tls_authority {
	EVP_PKEY *key;
	X509 *certificate;
};

static int complain(struct err *err, const char *what)
{
	char why[256];

	return err_set(err, ERR_IO, "cannot make a certificate: %s: %s", what,
		       tls_complaint(why, sizeof(why)));
}

/* ---- files ---------------------------------------------------------------------------- */

/* Opens `path`.new; put_in_place() renames it. */
static FILE *open_new(const char *path, mode_t mode, struct err *err)
{
	char *temporary = xprintf("%s.new", path);
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file)
		err_set(err, ERR_IO, "cannot write %s: %s", temporary, strerror(errno));
	free(temporary);
	return file;
}

static int put_in_place(FILE *file, int written, const char *path, struct err *err)
{
	char *temporary = xprintf("%s.new", path);
	int rv = 0;

	if (fclose(file) != 0 || written != 1 || rename(temporary, path) != 0)
		rv = err_set(err, ERR_IO, "cannot write %s: %s", path, strerror(errno));
	free(temporary);
	return rv;
}

static int write_certificate(const char *path, X509 *certificate, struct err *err)
{
	FILE *file = open_new(path, 0644, err);

	return file ? put_in_place(file, PEM_write_X509(file, certificate), path, err) : ERR_IO;
}

static int write_key(const char *path, EVP_PKEY *key, struct err *err)
{
	FILE *file = open_new(path, 0600, err);

	return file ? put_in_place(file, PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL),
				   path, err)
		    : ERR_IO;
}

/* ---- certificates ----------------------------------------------------------------------- */

static bool add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;
	bool added;

	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	added = extension && X509_add_ext(certificate, extension, -1) == 1;
	X509_EXTENSION_free(extension);
	return added;
}

static bool set_serial(X509 *certificate)
{
	unsigned char bytes[8];
	BIGNUM *number;
	bool set;

	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return false;
	bytes[0] = (unsigned char)((bytes[0] & 0x7f) | 0x40);
	number = BN_bin2bn(bytes, sizeof(bytes), NULL);
	set = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
	BN_free(number);
	return set;
}

/* A certificate that wants its extensions and its signature. */
static X509 *new_certificate(EVP_PKEY *key, const char *name)
{
	X509 *certificate = X509_new();
	X509_NAME *subject = certificate ? X509_get_subject_name(certificate) : NULL;

	if (subject && X509_set_version(certificate, X509_VERSION_3) && set_serial(certificate) &&
	    X509_gmtime_adj(X509_getm_notBefore(certificate), -EARLIER_SECONDS) &&
	    X509_time_adj_ex(X509_getm_notAfter(certificate), VALID_DAYS, 0, NULL) &&
	    X509_set_pubkey(certificate, key) &&
	    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name,
				       -1, -1, 0))
		return certificate;
	X509_free(certificate);
	return NULL;
}

int tls_authority_create(const char *path, struct tls_authority **out, struct err *err)
{
	struct tls_authority *authority = xcalloc(1, sizeof(*authority));
	X509 *certificate = NULL;
	int rv;

	authority->key = EVP_EC_gen("P-256");
	if (authority->key)
		certificate = authority->certificate =
			new_certificate(authority->key, "a throwaway authority of mesita");
	if (certificate && X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) &&
	    add_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE") &&
	    add_extension(certificate, certificate, NID_key_usage,
			  "critical,keyCertSign,cRLSign") &&
	    add_extension(certificate, certificate, NID_subject_key_identifier, "hash") &&
	    X509_sign(certificate, authority->key, EVP_sha256()))
		rv = write_certificate(path, certificate, err);
	else
		rv = complain(err, "its authority");
	if (rv == 0)
		*out = authority;
	else
		tls_authority_free(authority);
	return rv;
}

static X509 *sign_for(struct tls_authority *authority, EVP_PKEY *key, const char *names)
{
	X509 *issuer = authority->certificate;
	X509 *certificate = new_certificate(key, "mesita");

	if (certificate && X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) &&
	    add_extension(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
	    add_extension(certificate, issuer, NID_ext_key_usage, "serverAuth,clientAuth") &&
	    add_extension(certificate, issuer, NID_authority_key_identifier, "keyid") &&
	    add_extension(certificate, issuer, NID_subject_alt_name, names) &&
	    X509_sign(certificate, authority->key, EVP_sha256()))
		return certificate;
	X509_free(certificate);
	return NULL;
}

int tls_authority_issue(struct tls_authority *authority, const char *const *addresses, size_t count,
			const char *cert_path, const char *key_path, struct err *err)
{
	struct buf names = BUF_INIT;
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *certificate;
	int rv;

	buf_puts(&names, "DNS:localhost");
	for (size_t i = 0; i < count; i++)
		buf_printf(&names, ",IP:%s", addresses[i]);
	certificate = key ? sign_for(authority, key, names.data) : NULL;
	rv = certificate ? write_key(key_path, key, err) : complain(err, names.data);
	if (rv == 0)
		rv = write_certificate(cert_path, certificate, err);
	X509_free(certificate);
	EVP_PKEY_free(key);
	buf_free(&names);
	return rv;
}

void tls_authority_free(struct tls_authority *authority)
{
	if (!authority)
		return;
	X509_free(authority->certificate);
	EVP_PKEY_free(authority->key);
	free(authority);
}
