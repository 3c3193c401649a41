package io.homeostat.desired.model;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Keys;
import io.homeostat.desired.model.schema.Fields.Matches;
import io.homeostat.desired.model.schema.Fields.Range;
import org.jspecify.annotations.Nullable;

/** What a program's process begins with, beside its environment; null is what it would have anyway. */
public record ProcessSettings(
        @Doc("The directory that the program begins in, absolute; / when left out.")
        @Matches(value = "/[^\\u0000]*", words = "an absolute path")
        @Nullable
        String workingDirectory,

        @Doc("The mode bits that new files don't get, octal and in quotes: \"0027\". 0022 when left out.")
        @Matches(value = "0?[0-7]{3}", words = "an octal mode in quotes, such as \"0027\"")
        @Nullable
        String umask,

        @Doc("The group to run as, by name or number; that of the user when left out. Takes root.")
        @Matches(value = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}", words = "a group name or number")
        @Nullable
        String group,

        @Doc("Groups to be in beside it and beside those of the user, by name or number. Takes root.")
        @Matches(value = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}", words = "a group name or number")
        @Nullable
        ImmutableList<String> supplementaryGroups,

        @Doc(
                "How nice it is to others that want the processor: -20 has it first, 19 last. Less than Homeostat's own takes root; when left out 0, or where that can't be had Homeostat's own.")
        @Range(min = -20, max = 19)
        @Nullable
        Integer nice,

        @Doc(
                "How readily the kernel ends it when memory runs out: -1000 never, 1000 first. Less than Homeostat's own takes root.")
        @Range(min = -1000, max = 1000)
        @Nullable
        Integer oomScoreAdjust,

        @Doc(
                "Limits of setrlimit(2), each as \"N\", \"SOFT:HARD\" or unlimited, in the units of prlimit(1): {nofile: \"65536\", core: unlimited}. To raise a hard one takes root.")
        @Keys(
                value =
                        "as|core|cpu|data|fsize|locks|memlock|msgqueue|nice|nofile|nproc|rss|rtprio|rttime|sigpending|stack",
                words = "a limit of prlimit(1), such as nofile, nproc, core, memlock or stack")
        @Matches(
                value = "([0-9]{1,18}|unlimited)(:([0-9]{1,18}|unlimited))?",
                words = "a number or unlimited, or two of them as SOFT:HARD, in quotes")
        @Nullable
        ImmutableSortedMap<String, String> rlimits) {
    /** Nothing of it. */
    public static final ProcessSettings NONE = new ProcessSettings(null, null, null, null, null, null, null);

    /** Where it begins. */
    public String directory() {
        return workingDirectory == null ? "/" : workingDirectory;
    }

    /** The bits that new files don't get, octal: as systemd has it when it is not declared, whoever started us. */
    public String mask() {
        return umask == null ? "0022" : umask;
    }

    /** As {@code nice=5}, for whoever compares it; empty when nothing is set. */
    public ImmutableList<String> parts() {
        ImmutableList.Builder<String> parts = ImmutableList.builder();
        add(parts, "workingDirectory", workingDirectory);
        add(parts, "umask", umask);
        add(parts, "group", group);
        add(parts, "supplementaryGroups", supplementaryGroups);
        add(parts, "nice", nice);
        add(parts, "oomScoreAdjust", oomScoreAdjust);
        add(parts, "rlimits", rlimits);
        return parts.build();
    }

    private static void add(ImmutableList.Builder<String> parts, String name, @Nullable Object value) {
        if (value != null) {
            parts.add(name + "=" + value);
        }
    }
}
