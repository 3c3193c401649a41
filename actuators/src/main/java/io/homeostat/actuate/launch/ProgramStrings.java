package io.homeostat.actuate.launch;

import com.google.common.base.Utf8;
import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.Launcher.LaunchRequest;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.process.LaunchDirectory.LaunchMarks;
import io.homeostat.observe.process.SystemCharset;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/** Checks which arguments and variables can reach a program unchanged through the kernel and the shell. */
final class ProgramStrings {
    /** MAX_ARG_STRLEN of execve(2), 32 pages of 4 KiB, minus the terminating zero. */
    static final int LONGEST = 131_071;

    /** A variable travels as the value of another one, see program.sh, whose number has at most seven digits. */
    private static final int LONGEST_VARIABLE = LONGEST - "HOMEOSTAT_ENV_1234567=".length();

    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");

    /** Variables that program.sh itself uses. */
    private static final Pattern OURS =
            Pattern.compile("homeostat_(mask|number|pair)|HOMEOSTAT_ENV_.*|HOMEOSTAT_(KEEPER|PROGRAM)_SCRIPT");

    /**
     * Variables that dash or bash, whichever is sh, do not allow to be set or change on the way. Refused with either, so that what one
     * machine accepts all do.
     */
    private static final Pattern OF_BASH = Pattern.compile("BASH_(?!ENV$|XTRACEFD$|ARGV0$).+");

    private static final ImmutableSet<String> OF_THE_SHELL = ImmutableSet.of(
            "_",
            "BASHOPTS",
            "BASHPID",
            "DIRSTACK",
            "EPOCHREALTIME",
            "EPOCHSECONDS",
            "EUID",
            "FUNCNAME",
            "GROUPS",
            "HISTCMD",
            "LINENO",
            "OPTIND",
            "PIPESTATUS",
            "PPID",
            "RANDOM",
            "SECONDS",
            "SHELLOPTS",
            "SHLVL",
            "SRANDOM",
            "UID");

    private ProgramStrings() {}

    /** @throws ActuationFailure names the argument or variable, never its value; fatal where only another declaration helps */
    static void check(LaunchRequest request) throws ActuationFailure {
        for (Map.Entry<String, String> variable : request.env().entrySet()) {
            String name = variable.getKey();
            checkName(request, name);
            String what = "the environment variable " + name;
            check(request, what, variable.getValue(), LONGEST_VARIABLE - name.length() - 1);
        }
        for (int i = 0; i < request.arguments().size(); i++) {
            check(request, "argument " + (i + 1), request.arguments().get(i), LONGEST);
        }
        checkCharacters(
                request, "the path of its entry point", request.executable().toString());
    }

    private static void checkName(LaunchRequest request, String name) throws ActuationFailure {
        if (!NAME.matcher(name).matches()) {
            throw refused(
                    request,
                    "'" + name + "' is not the name of an environment variable; letters, digits and '_' are possible");
        }
        if (OF_THE_SHELL.contains(name) || OF_BASH.matcher(name).matches()) {
            throw refused(
                    request,
                    "the environment variable " + name
                            + " belongs to the shell and can't be set for a program; choose another name");
        }
        if (OURS.matcher(name).matches() || name.equals(LaunchMarks.KEEPER)) {
            throw refused(
                    request, "the environment variable " + name + " is one of Homeostat's own; choose another name");
        }
    }

    private static void check(LaunchRequest request, String what, String value, int longest) throws ActuationFailure {
        if (value.indexOf('\0') >= 0) {
            throw refused(request, what + " has a zero character in it, which ends a string for every program");
        }
        checkCharacters(request, what, value);
        int length = Utf8.encodedLength(value);
        if (length > longest) {
            throw refused(
                    request,
                    what + " is " + length + " bytes long, and the system gives a program no more than " + longest
                            + "; put it into a file");
        }
    }

    /** Not fatal, because another locale helps. */
    private static void checkCharacters(LaunchRequest request, String what, String value) throws ActuationFailure {
        Optional<String> problem = SystemCharset.problem(value);
        if (problem.isPresent()) {
            throw new ActuationFailure(
                    FailureCause.Kind.ARGUMENTS,
                    request.instance().workload() + " can't be launched: " + what + " " + problem.get(),
                    false);
        }
    }

    private static ActuationFailure refused(LaunchRequest request, String why) {
        return new ActuationFailure(
                FailureCause.Kind.ARGUMENTS, request.instance().workload() + " can't be launched: " + why, true);
    }
}
