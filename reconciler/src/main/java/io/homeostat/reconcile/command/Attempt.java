package io.homeostat.reconcile.command;

import io.homeostat.desired.state.StoreException;
import io.homeostat.reconcile.command.output.Console;

/**
 * Runs a command and tells people when it fails.
 *
 * @param debug whether to show where
 */
public record Attempt(Verb verb, Console console, boolean debug) {
    /**
     * Runs it.
     *
     * @return its exit status
     * @throws UsageException which everybody has own words for
     */
    public int run(Command command) throws InterruptedException {
        try {
            return command.run();
        } catch (UsageException e) {
            throw e;
        } catch (CommandFailure | StoreException e) {
            fail(e);
            return ExitStatus.FAILED;
        } catch (RuntimeException e) {
            fail(e);
            console.say("this is a defect of homeostat; --log-level debug shows where it happened");
            return ExitStatus.FAILED;
        }
    }

    private void fail(RuntimeException e) {
        String why = e.getMessage() == null ? e.toString() : e.getMessage();
        console.say(verb.word() + ": " + why);
        if (debug) {
            e.printStackTrace(console.err());
        }
    }
}
