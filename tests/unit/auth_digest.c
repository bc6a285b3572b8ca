/* SHA-256 of what comes in pieces, by vectors of FIPS 180-2. */
#include <criterion/criterion.h>
#include <string.h>

#include "auth/digest.h"

static const struct {
	const char *text, *digest;
} vectors[] = {
	{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};

Test(digest, of_texts_at_once_and_in_pieces)
{
	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
		size_t len = strlen(vectors[i].text);
		char text[DIGEST_TEXT];
		struct digest *digest;

		digest_text(vectors[i].text, len, text);
		cr_expect_str_eq(text, vectors[i].digest);
		digest = digest_begin();
		for (size_t at = 0; at < len; at++)
			digest_add(digest, vectors[i].text + at, 1);
		digest_end(digest, text);
		cr_expect_str_eq(text, vectors[i].digest);
	}
}
