/* What the commands read from and write for people. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/job/job.h"
#include "cli/job/sandbox_file.h"
#include "net/http.h"

Test(text, exit_code_of_a_message)
{
	cr_expect_eq(job_exit_code("Command exited with status 0"), 0);
	cr_expect_eq(job_exit_code("Command exited with status 255"), 255);
	cr_expect_eq(job_exit_code(NULL), -1);
	cr_expect_eq(job_exit_code(""), -1);
	cr_expect_eq(job_exit_code("Command terminated with signal Killed"), -1);
	cr_expect_eq(job_exit_code("Command exited with status "), -1);
	cr_expect_eq(job_exit_code("Command exited with status -1"), -1);
	cr_expect_eq(job_exit_code("Command exited with status 256"), -1);
	cr_expect_eq(job_exit_code("Command exited with status 7x"), -1);
	cr_expect_eq(job_exit_code("Command exited with status 99999999999999999999"), -1);
	cr_expect_eq(job_exit_code("it said: Command exited with status 7"), -1);
}

Test(text, encodes_for_a_query)
{
	struct buf out = BUF_INIT;

	http_encode(&out, "a/b-c_d.e~f g&h=i%\n\xc3\xa4");
	cr_expect_str_eq(out.data, "a/b-c_d.e~f%20g%26h%3Di%25%0A%C3%A4");
	buf_free(&out);
}

Test(text, table_has_columns_and_no_control_bytes, .init = cr_redirect_stdout)
{
	struct cli_table table;

	cli_table_init(&table, 3);
	table.width_max = 0;
	for (int i = 0; i < 3; i++)
		cli_table_add(&table, "HEAD");
	cli_table_add(&table, "longer cell");
	cli_table_add(&table, NULL);
	cli_table_add(&table, "\033[31mred\n");
	cli_table_print(&table);
	fflush(stdout);
	cr_expect_stdout_eq_str("HEAD         HEAD  HEAD\n"
				"longer cell        ?[31mred?\n");
}

Test(text, table_cuts_its_last_column, .init = cr_redirect_stdout)
{
	struct cli_table table;

	cli_table_init(&table, 2);
	table.width_max = 16;
	cli_table_add(&table, "ab");
	cli_table_add(&table, "\xc3\xa4\xc3\xa4"
			      "3456789012345");
	cli_table_print(&table);
	fflush(stdout);
	cr_expect_stdout_eq_str("ab  \xc3\xa4\xc3\xa4"
				"3456789012\n");
}

Test(text, table_without_rows, .init = cr_redirect_stdout)
{
	struct cli_table table;

	cli_table_init(&table, 2);
	cli_table_print(&table);
	fflush(stdout);
	cr_expect_stdout_eq_str("");
}

Test(text, sandbox_file)
{
	struct buf path = BUF_INIT, data = BUF_INIT;
	const char *good = "{\"data\":\"a\\nb\",\"offset\":0}";
	struct err err;

	sandbox_file_path(&path, "f 1", "e", "std out", 7);
	cr_expect_str_eq(path.data, "/files/read?offset=7&path=/frameworks/f%201/executors/e/runs/"
				    "latest/std%20out");
	cr_expect_eq(sandbox_file_data(good, strlen(good), &data, &err), 0);
	cr_expect_str_eq(data.data, "a\nb");
	cr_expect_lt(sandbox_file_data("{}", 2, &data, &err), 0);
	cr_expect_lt(sandbox_file_data("{\"data\":1}", 10, &data, &err), 0);
	cr_expect_lt(sandbox_file_data("[", 1, &data, &err), 0);
	cr_expect_lt(sandbox_file_data("", 0, &data, &err), 0);
	cr_expect_eq(data.len, 3);
	buf_free(&path);
	buf_free(&data);
}
