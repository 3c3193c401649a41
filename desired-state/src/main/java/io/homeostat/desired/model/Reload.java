package io.homeostat.desired.model;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Probe.Exec;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Matches;
import io.homeostat.desired.model.schema.Fields.Range;
import org.jspecify.annotations.Nullable;

/** How a running program is made to read its files again, in exactly one of two ways, and which files these are. */
public record Reload(
        @Doc("The signal that has the main process read its files again; one that it does not handle is not sent.")
        @Matches(
                value = "SIG(HUP|USR1|USR2|WINCH|INT|QUIT|TERM)",
                words =
                        "a signal that a program can handle: SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGINT, SIGQUIT or SIGTERM")
        @Nullable
        String signal,

        @Doc(
                "The command that has it read its files again, as its user and in its environment; done when it exits with 0 within health.timeout.")
        @Nullable
        Exec exec,

        @Doc(
                "The files, absolute, each of up to 1 MiB. Another content is a reload; one that is missing or can't be read is none until it is there again.")
        @Matches(value = "/[^\\u0000]*", words = "an absolute path")
        @Range(min = 1)
        ImmutableList<String> watch) {}
