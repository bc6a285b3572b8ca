#include "client_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/mesita-test-XXXXXX";

void program_make(const struct fake *fake, const char *script)
{
	char *path;
	FILE *file;

	cr_assert_not_null(mkdtemp(directory));
	path = xprintf("%s/mesita", directory);
	file = fopen(path, "w");
	fprintf(file, "#!/bin/sh\n%s\n", script);
	fclose(file);
	cr_assert_eq(chmod(path, 0755), 0);
	setenv("MESITA", path, 1);
	setenv("FAKE", fake->address, 1);
	setenv("DIRECTORY", directory, 1);
	free(path);
}

const char *program_directory(void)
{
	return directory;
}

bool program_made(const char *file)
{
	char *path = xprintf("%s/%s", directory, file);
	bool made = access(path, F_OK) == 0;

	free(path);
	return made;
}

void program_remove(void)
{
	char *command = xprintf("rm -r %s", directory);

	cr_assert_eq(system(command), 0);
	free(command);
}
