package io.homeostat.observe.process;

import com.google.common.base.Utf8;
import com.google.common.collect.ImmutableSet;
import java.util.Optional;
import java.util.regex.Pattern;

/** Which environment variables can reach a program unchanged through the kernel and the shell. */
public final class ProgramVariable {
    /** MAX_ARG_STRLEN of execve(2), 32 pages of 4 KiB, minus the terminating zero. */
    public static final int LONGEST_STRING = 131_071;

    /** A variable travels as the value of another one, see program.sh, whose number has at most seven digits. */
    private static final int LONGEST = LONGEST_STRING - "HOMEOSTAT_ENV_1234567=".length();

    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");

    /** Variables that program.sh itself uses, and the one by which a keeper is recognized. */
    private static final Pattern OURS = Pattern.compile(
            "homeostat_(mask|number|pair)|HOMEOSTAT_(ENV_.*|KEEPER(_DIRECTORY)?|(KEEPER|PROGRAM)_SCRIPT)");

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

    private ProgramVariable() {}

    /** Whether it is written as the name of one. */
    public static boolean isName(String text) {
        return NAME.matcher(text).matches();
    }

    /** Why no variable can have this name; a sentence that quotes it. */
    public static Optional<String> problemOfName(String name) {
        if (!isName(name)) {
            return Optional.of(
                    "'" + name + "' is not the name of an environment variable; letters, digits and '_' are possible");
        }
        if (OF_THE_SHELL.contains(name) || OF_BASH.matcher(name).matches()) {
            return Optional.of("the environment variable " + name
                    + " belongs to the shell and can't be set for a program; choose another name");
        }
        return OURS.matcher(name).matches()
                ? Optional.of("the environment variable " + name + " is one of Homeostat's own; choose another name")
                : Optional.empty();
    }

    /** What is wrong with a value that would be right in another locale, too; begins with a verb, and does not quote it. */
    public static Optional<String> problemOfValue(String name, String value) {
        return problemOfString(value, LONGEST - name.length() - 1);
    }

    /** The same of any string for a program. */
    public static Optional<String> problemOfString(String text, int longest) {
        if (text.indexOf('\0') >= 0) {
            return Optional.of("has a zero character in it, which ends a string for every program");
        }
        int length = Utf8.encodedLength(text);
        return length > longest
                ? Optional.of("is " + length + " bytes long, and the system gives a program no more than " + longest
                        + "; put it into a file")
                : Optional.empty();
    }
}
