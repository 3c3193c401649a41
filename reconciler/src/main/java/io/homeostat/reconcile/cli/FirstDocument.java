package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.environment.UserDirectories;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.start.Draft;
import io.homeostat.reconcile.command.start.Drafts;
import io.homeostat.reconcile.command.start.LocalProgram;
import io.homeostat.reconcile.command.start.NomadJob;
import io.homeostat.reconcile.command.start.PackedProgram;
import io.homeostat.reconcile.command.start.Pm2Apps;
import io.homeostat.reconcile.command.start.SupervisorPrograms;
import io.homeostat.reconcile.command.start.SystemdService;
import io.homeostat.reconcile.command.start.WholeFile;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;

/** Writes a first document for what there is. */
record FirstDocument(Invocation typed) {
    static final ImmutableList<String> FORMS =
            ImmutableList.of("binary", "archive", "systemd", "supervisor", "pm2", "nomad");
    static final String FORMS_IN_WORDS =
            "binary, archive, systemd (a unit), supervisor (its configuration), pm2 (an ecosystem in JSON or YAML) or nomad (a job in JSON)";

    /** That take a name, as they are one workload. */
    private static final ImmutableSet<String> NAMED = ImmutableSet.of("binary", "archive", "systemd");

    private static final ImmutableSet<String> OF_SOME = ImmutableSet.of(
            Syntax.NAME,
            Syntax.ARGUMENT,
            Syntax.ENTRY_POINT,
            Syntax.REVISION,
            Syntax.AS_PLUGIN,
            Syntax.FROM_PROGRAM,
            Syntax.FROM_TASK,
            Syntax.ENVIRONMENT);

    /** For what is removed again; TMPDIR names another place. */
    static Path temporary(Environment environment) {
        String named = environment.variable("TMPDIR");
        return named.startsWith("/") ? Path.of(named) : Path.of("/tmp");
    }

    int run() throws InterruptedException {
        Arguments arguments = typed.arguments();
        Wish wish = wish();
        Optional<WholeFile> file =
                arguments.text(Syntax.TO).map(to -> new WholeFile(path(Syntax.TO, to), arguments.flag(Syntax.FORCE)));
        file.ifPresent(WholeFile::require);
        try (Interrupts.Guard _ = typed.environment().interrupts().guard()) {
            Drafts drafts = drafts(wish.what(), wish.from(), wish.name());
            Path directory = file.map(whole -> whole.path().getParent())
                    .orElse(typed.environment().workingDirectory());
            String text = drafts.text(typed.environment().documents(), directory);
            file.ifPresent(whole -> whole.write(text));
            print(drafts, text, file);
        }
        return ExitStatus.OK;
    }

    /** What was typed on the command line, or at its questions. */
    private record Wish(String what, String from, Optional<String> name) {}

    private Wish wish() {
        Arguments arguments = typed.arguments();
        Optional<String> name = arguments.text(Syntax.NAME);
        if (arguments.words().isEmpty()
                && typed.environment().terminal().isInput()
                && !typed.console().json()) {
            return asked(name);
        }
        if (arguments.words().size() < 2) {
            throw new UsageException("needs WHAT and FILE; WHAT is " + FORMS_IN_WORDS
                    + ", as in: homeostat init binary /usr/bin/node_exporter");
        }
        return new Wish(arguments.words().get(0), arguments.words().get(1), name);
    }

    private Wish asked(Optional<String> name) {
        BufferedReader answers =
                new BufferedReader(new InputStreamReader(typed.environment().in(), StandardCharsets.UTF_8));
        String what = ask(answers, "What is there: " + FORMS_IN_WORDS, FORMS.getFirst());
        String from = ask(answers, "Where is it", "");
        if (from.isEmpty()) {
            throw new UsageException("needs to know where it is; name a file");
        }
        if (name.isPresent() || !NAMED.contains(what)) {
            return new Wish(what, from, name);
        }
        String called = ask(answers, "How is it to be called", "by the file");
        return new Wish(what, from, called.equals("by the file") ? Optional.empty() : Optional.of(called));
    }

    /** The answer, or what is in brackets for none. */
    private String ask(BufferedReader answers, String question, String otherwise) {
        PrintStream err = typed.console().err();
        err.print(question + (otherwise.isEmpty() ? "" : " [" + otherwise + "]") + "? ");
        err.flush();
        try {
            String answer = answers.readLine();
            if (answer == null) {
                throw new UsageException("needs an answer, and standard input has ended");
            }
            return answer.isBlank() ? otherwise : answer.strip();
        } catch (IOException e) {
            throw new CommandFailure("cannot read the answer: " + CommandFailure.reason(e), e);
        }
    }

    private Drafts drafts(String what, String from, Optional<String> name) throws InterruptedException {
        Arguments arguments = typed.arguments();
        return switch (what) {
            case "binary" -> {
                allow(what, Syntax.NAME, Syntax.ARGUMENT);
                yield LocalProgram.draft(path("FILE", from), name, arguments.texts(Syntax.ARGUMENT));
            }
            case "archive" -> {
                allow(what, Syntax.NAME, Syntax.ARGUMENT, Syntax.ENTRY_POINT, Syntax.REVISION, Syntax.AS_PLUGIN);
                yield new PackedProgram(
                                from.contains("://") ? from : path("FILE", from).toString(),
                                name,
                                arguments.text(Syntax.ENTRY_POINT),
                                arguments.text(Syntax.REVISION),
                                arguments.texts(Syntax.ARGUMENT),
                                arguments.flag(Syntax.AS_PLUGIN))
                        .draft(temporary(typed.environment()));
            }
            case "systemd" -> {
                allow(what, Syntax.NAME);
                yield SystemdService.draft(path("FILE", from), name);
            }
            case "supervisor" -> {
                allow(what, Syntax.FROM_PROGRAM);
                yield SupervisorPrograms.drafts(path("FILE", from), arguments.text(Syntax.FROM_PROGRAM));
            }
            case "pm2" -> {
                allow(what, Syntax.FROM_PROGRAM, Syntax.ENVIRONMENT);
                yield Pm2Apps.drafts(
                        path("FILE", from), arguments.text(Syntax.FROM_PROGRAM), arguments.text(Syntax.ENVIRONMENT));
            }
            case "nomad" -> {
                allow(what, Syntax.FROM_TASK);
                yield NomadJob.drafts(path("FILE", from), arguments.text(Syntax.FROM_TASK));
            }
            default -> throw new UsageException("nothing can be made from a '" + what + "'; write " + FORMS_IN_WORDS);
        };
    }

    /** Whoever types an option that means nothing here means something else. */
    private void allow(String what, String... options) {
        for (String option : Sets.difference(OF_SOME, ImmutableSet.copyOf(options))) {
            if (typed.arguments().command().options().containsKey(option)) {
                throw new UsageException(option + " means nothing for " + what + "; leave it out");
            }
        }
    }

    private Path path(String option, String typedPath) {
        return new UserDirectories(typed.environment()).absolute(option, typedPath);
    }

    private void print(Drafts drafts, String text, Optional<WholeFile> file) {
        Console console = typed.console();
        drafts.remarks().stream().map(Draft.Remark::problem).forEach(console::warn);
        if (console.json()) {
            Json.print(
                    console.out(),
                    Json.versioned()
                            .put(
                                    "file",
                                    file.map(whole -> whole.path().toString()).orElse(null))
                            .put("text", text));
        } else if (file.isEmpty()) {
            console.out().print(text);
        } else {
            console.say("wrote " + file.get().path() + "; look through it, then: homeostat apply -f "
                    + file.get().path());
        }
    }
}
