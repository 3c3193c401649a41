package io.homeostat.reconcile.command.output;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.base.Throwables;
import io.homeostat.desired.model.VisibleText;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.yaml.Problem;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.DamagedProgram;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.command.environment.UsageException;
import java.io.PrintStream;
import java.nio.channels.ClosedByInterruptException;

/**
 * Where a command writes: results to {@code out}, in these colours, messages to {@code err}. Where results are JSON so are messages, an
 * object a line: {@code message} for what is good to know, {@code warning} for a document, {@code error} for why it failed.
 */
public record Console(PrintStream out, PrintStream err, OutputFormat format, Ansi ansi) {
    private static final String DEFECT =
            "this is a defect of homeostat; --log-level debug shows where it happened, or the log of the agent if one runs";

    public boolean json() {
        return format == OutputFormat.JSON;
    }

    /** Writes out what was printed; false when nobody reads it any more, so that there is no use in going on. */
    public boolean isRead() {
        return !out.checkError() && !(out instanceof StandardOutput standard && !standard.isRead());
    }

    /** At once: it is read while the command goes on. */
    private void print(ObjectNode message) {
        Json.print(err, message);
        err.flush();
    }

    public void say(String message) {
        if (json()) {
            print(Json.versioned().put("message", message));
        } else {
            err.println("homeostat: " + VisibleText.lines(message));
            err.flush();
        }
    }

    /** What is doubtful about a document. */
    public void warn(Problem problem) {
        if (json()) {
            ObjectNode json = Json.versioned();
            json.set("warning", Json.of(problem));
            print(json);
        } else {
            err.println("warning: " + VisibleText.lines(problem.toString()));
            err.flush();
        }
    }

    @FunctionalInterface
    public interface Work {
        int run() throws InterruptedException;
    }

    /**
     * Runs something and tells people when it fails; returns the exit status.
     *
     * @param debug whether to show where it failed
     * @throws UsageException which each caller words in its own way
     */
    public int tellFailures(String word, boolean debug, Work work) throws InterruptedException {
        try {
            return work.run();
        } catch (UsageException e) {
            throw e;
        } catch (RuntimeException | Error e) {
            if (isInterruption(e)) {
                InterruptedException interrupted = new InterruptedException("while it used a file");
                interrupted.initCause(e);
                throw interrupted;
            }
            if (e instanceof CommandFailure || e instanceof StoreException) {
                fail(word, "failure", debug, e);
            } else if (DamagedProgram.explains(e)) {
                fail(word, "failure", debug, new CommandFailure(DamagedProgram.words(e), e));
            } else {
                fail(word, "defect", debug, e);
                if (!json()) {
                    say(DEFECT);
                }
            }
            return ExitStatus.FAILED;
        }
    }

    /** Returns whether work failed because its thread was interrupted: a wait or the use of a file may not say so in any other way. */
    private static boolean isInterruption(Throwable e) {
        return Throwables.getCausalChain(e).stream()
                .anyMatch(
                        cause -> cause instanceof InterruptedException || cause instanceof ClosedByInterruptException);
    }

    /** Part of what was asked for can't be done; the rest is. */
    public void failPart(String word, String message) {
        if (json()) {
            print(error(word, "failure", message));
        } else {
            say(word + ": " + message);
        }
    }

    /** The command line says something that no command understands; {@code message} says where help is. */
    public void misunderstood(String word, String message) {
        if (json()) {
            print(error(word, "usage", message));
        } else {
            say(message);
        }
    }

    private void fail(String word, String kind, boolean debug, Throwable e) {
        String message = e.getMessage() == null ? e.toString() : e.getMessage();
        if (!json()) {
            say(word + ": " + message);
            if (debug) {
                e.printStackTrace(err);
            }
            return;
        }
        ObjectNode json = error(word, kind, kind.equals("defect") ? message + "; " + DEFECT : message);
        ObjectNode error = (ObjectNode) json.get("error");
        if (e instanceof CommandFailure failure && !failure.problems().isEmpty()) {
            error.set("problems", Json.array(failure.problems(), Json::of));
        }
        if (debug) {
            error.put("stack", Throwables.getStackTraceAsString(e));
        }
        print(json);
    }

    private static ObjectNode error(String word, String kind, String message) {
        ObjectNode json = Json.versioned();
        json.putObject("error").put("command", word).put("kind", kind).put("message", message);
        return json;
    }
}
