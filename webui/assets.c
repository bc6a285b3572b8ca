#include "webui/assets.h"

#include <string.h>

#ifdef MESITA_WEBUI

/* The assembler copies a file to read-only data; -Wa,-I says where the files are. */
#define EMBED_FILE(symbol, file)                                                                   \
	__asm__(".pushsection .rodata\n"                                                           \
		".global " symbol "\n" symbol ":\n"                                                \
		".incbin \"" file "\"\n"                                                           \
		".global " symbol "_end\n" symbol "_end:\n"                                        \
		".byte 0\n"                                                                        \
		".popsection\n")
#define EMBED(id, file)                                                                            \
	EMBED_FILE("webui_" #id, file);                                                            \
	EMBED_FILE("webui_" #id "_gz", file ".gz");                                                \
	extern const char webui_##id[], webui_##id##_end[];                                        \
	extern const char webui_##id##_gz[], webui_##id##_gz_end[]

EMBED(page, "index.html");
EMBED(app, "app.js");
EMBED(worker, "worker.js");
EMBED(style, "style.css");
EMBED(icon, "icon.svg");

/* Where a file ends the linker knows, and the compiler does not. */
static const struct embedded {
	const char *name, *media;
	const char *plain, *plain_end, *packed, *packed_end;
} embedded[] = {
#define ROW(id, name, media)                                                                       \
	{                                                                                          \
		name, media, webui_##id, webui_##id##_end, webui_##id##_gz, webui_##id##_gz_end    \
	}
	ROW(page, "index.html", "text/html; charset=utf-8"),
	ROW(app, "app.js", "text/javascript; charset=utf-8"),
	ROW(worker, "worker.js", "text/javascript; charset=utf-8"),
	ROW(style, "style.css", "text/css; charset=utf-8"),
	ROW(icon, "icon.svg", "image/svg+xml"),
};

bool webui_asset(const char *name, struct asset *out)
{
	for (size_t i = 0; i < sizeof(embedded) / sizeof(*embedded); i++) {
		const struct embedded *e = &embedded[i];

		if (strcmp(e->name, name) != 0)
			continue;
		*out = (struct asset){e->name,
				      e->media,
				      {e->plain, (size_t)(e->plain_end - e->plain)},
				      {e->packed, (size_t)(e->packed_end - e->packed)}};
		return true;
	}
	return false;
}

#else

bool webui_asset(const char *name, struct asset *out)
{
	(void)name;
	(void)out;
	return false;
}

#endif
