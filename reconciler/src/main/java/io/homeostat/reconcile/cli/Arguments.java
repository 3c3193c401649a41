package io.homeostat.reconcile.cli;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.reconcile.command.EventsCommand;
import io.homeostat.reconcile.command.RequestFields;
import io.homeostat.reconcile.command.Selection;
import io.homeostat.reconcile.command.environment.GlobalOptions;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.command.environment.UsageException;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.OffsetDateTime;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/** What was typed, with types: on the whole command line, and after the command's name. */
record Arguments(Typed whole, Typed command) {
    /**
     * What stands in one place.
     *
     * @param options the value of each, by all its names
     * @param program what stands after {@code --} where that is a program and its arguments
     */
    record Typed(ImmutableMap<String, Object> options, ImmutableList<String> words, ImmutableList<String> program) {}

    GlobalOptions global() {
        return new GlobalOptions(
                this.<OutputFormat>anywhere(Syntax.OUTPUT).orElse(OutputFormat.TEXT),
                anywhere(Syntax.STATE_DIR),
                anywhere(Syntax.RUN_DIR),
                anywhere(Syntax.LOG_LEVEL),
                this.<Boolean>anywhere(Syntax.NO_COLOR).orElse(false));
    }

    /** Of a command line that could not be read as one. */
    static boolean asksForJson(String[] args) {
        String json = OutputFormat.JSON.name();
        for (int i = 0; i < args.length; i++) {
            String value = args[i].startsWith("--output=")
                    ? args[i].substring("--output=".length())
                    : args[i].startsWith(Syntax.OUTPUT) ? args[i].substring(2).replaceFirst("^=", "") : "";
            boolean before = i > 0 && (args[i - 1].equals(Syntax.OUTPUT) || args[i - 1].equals("--output"));
            if (value.equalsIgnoreCase(json) || (before && args[i].equalsIgnoreCase(json))) {
                return true;
            }
        }
        return false;
    }

    boolean flag(String option) {
        return Arguments.<Boolean>option(command, option).orElse(false);
    }

    ImmutableList<String> files() {
        return texts(Syntax.FILES);
    }

    Optional<String> text(String option) {
        return option(command, option);
    }

    /** What an option that may be given again was given. */
    ImmutableList<String> texts(String option) {
        return ImmutableList.copyOf(
                Arguments.<List<String>>option(command, option).orElse(List.of()));
    }

    Optional<String> config() {
        return option(command, Syntax.CONFIG);
    }

    /** @throws UsageException when it is no duration or none at all */
    Duration timeout() {
        Optional<String> text = option(command, Syntax.TIMEOUT);
        if (text.isEmpty()) {
            return RequestFields.DEFAULT_TIMEOUT;
        }
        return Notation.duration(text.get())
                .filter(duration -> !duration.isZero())
                .orElseThrow(() -> new UsageException(
                        Syntax.TIMEOUT + ": '" + text.get() + "' is no duration; write one such as 90s, 5m or 1h30m"));
    }

    /** @throws UsageException when the reason is blank */
    String reason() {
        Optional<String> reason = option(command, Syntax.REASON);
        if (reason.isPresent() && reason.get().isBlank()) {
            throw new UsageException(Syntax.REASON + " is empty; say why, for whoever finds it paused");
        }
        return reason.orElse("");
    }

    /** Which revision to go back to; empty when it is not said. */
    Optional<String> to() {
        return option(command, Syntax.TO);
    }

    String revision() {
        return Arguments.<String>option(command, Syntax.REVISION).orElse("");
    }

    /** @throws UsageException when it is negative */
    OptionalInt count(String name) {
        Optional<Integer> count = option(command, name);
        if (count.isPresent() && count.get() < 0) {
            throw new UsageException(name + ": " + count.get() + " is less than nothing");
        }
        return count.map(OptionalInt::of).orElse(OptionalInt.empty());
    }

    /** @throws UsageException when it is neither a duration, which is that long ago, nor a time */
    Instant since(InstantSource clock) {
        Optional<String> text = option(command, Syntax.SINCE);
        if (text.isEmpty()) {
            return Instant.EPOCH;
        }
        Optional<Duration> ago = Notation.duration(text.get());
        try {
            Instant since = ago.isPresent()
                    ? clock.instant().minus(ago.get())
                    : OffsetDateTime.parse(text.get()).toInstant();
            // A request carries it so.
            return Instant.ofEpochMilli(since.toEpochMilli());
        } catch (DateTimeException | ArithmeticException e) {
            throw new UsageException(Syntax.SINCE + ": '" + text.get()
                    + "' is neither a duration such as 90s or 1h30m nor a time such as 2026-11-20T12:00:00Z");
        }
    }

    /**
     * The workloads that an option names, or that are chosen otherwise; all when it is not said which.
     *
     * @throws UsageException when it is said in several ways
     */
    Selection about() {
        ImmutableList<WorkloadId> named = Arguments.<List<String>>option(command, Syntax.FOR).orElse(List.of()).stream()
                .map(RequestFields::workload)
                .collect(ImmutableList.toImmutableList());
        return flag(Syntax.ALL) ? new Selection(named, labels(), true) : EventsCommand.selection(named, labels());
    }

    /** What a plugin is to be asked for; empty when it is not said. */
    Optional<String> request() {
        return option(command, Syntax.REQUEST);
    }

    int code() {
        return Arguments.<Integer>option(command, Syntax.CODE).orElse(0);
    }

    Optional<String> word() {
        return words().stream().findFirst();
    }

    ImmutableList<String> words() {
        return command.words();
    }

    /** A program and its arguments. */
    ImmutableList<String> program() {
        return command.program();
    }

    /**
     * The only one.
     *
     * @throws UsageException when there is none, or it is not of the form KIND/NAME
     */
    WorkloadId workload() {
        if (words().isEmpty()) {
            throw new UsageException("name a workload (KIND/NAME)");
        }
        return RequestFields.workload(words().getFirst());
    }

    /** @throws UsageException when one is not of the form KIND/NAME */
    ImmutableList<WorkloadId> workloads() {
        return words().stream()
                .map(word -> WorkloadId.parse(word)
                        .filter(id -> !id.name().isEmpty())
                        .orElseThrow(() -> new UsageException(
                                "'" + word + "' names no workload; write KIND/NAME, such as plugin/ops-agent")))
                .collect(ImmutableList.toImmutableList());
    }

    /**
     * None: all, which may be said.
     *
     * @throws UsageException when it is said in several ways which ones
     */
    ImmutableList<WorkloadId> workloadsOrAll() {
        return flag(Syntax.ALL) ? selection().names() : workloads();
    }

    /** @throws UsageException when it is not said which workloads, or in several ways */
    Selection selection() {
        return new Selection(workloads(), labels(), flag(Syntax.ALL));
    }

    /** @throws UsageException when one has no value, or two */
    ImmutableMap<String, String> labels() {
        Optional<String> text = option(command, Syntax.LABELS);
        if (text.isEmpty()) {
            return ImmutableMap.of();
        }
        Map<String, String> labels = new LinkedHashMap<>();
        for (String label : Splitter.on(',').split(text.get())) {
            int equals = label.indexOf('=');
            if (equals < 1) {
                throw new UsageException(Syntax.LABELS + ": '" + label + "' is no label; write one such as team=sre");
            }
            String name = label.substring(0, equals);
            if (labels.put(name, label.substring(equals + 1)) != null) {
                throw new UsageException(Syntax.LABELS + ": " + name
                        + " is given twice, and a workload has one value of it; all that are given have to match");
            }
        }
        return ImmutableMap.copyOf(labels);
    }

    private <T> Optional<T> anywhere(String name) {
        Optional<T> near = option(command, name);
        return near.isPresent() ? near : option(whole, name);
    }

    @SuppressWarnings("unchecked")
    private static <T> Optional<T> option(Typed typed, String name) {
        return Optional.ofNullable((T) typed.options().get(name));
    }
}
