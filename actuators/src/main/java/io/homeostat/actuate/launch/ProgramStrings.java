package io.homeostat.actuate.launch;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.Launcher.LaunchRequest;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.process.ProgramVariable;
import io.homeostat.observe.process.SystemCharset;
import java.util.Map;
import java.util.Optional;

/** Checks which arguments and variables can reach a program unchanged through the kernel and the shell. */
final class ProgramStrings {
    private ProgramStrings() {}

    /** @throws ActuationFailure names the argument or variable, never its value; fatal where only another declaration helps */
    static void check(LaunchRequest request) throws ActuationFailure {
        for (Map.Entry<String, String> variable : request.env().entrySet()) {
            String name = variable.getKey();
            Optional<String> problem = ProgramVariable.problemOfName(name);
            if (problem.isPresent()) {
                throw refused(request, problem.get());
            }
            String what = "the environment variable " + name;
            check(request, what, variable.getValue(), ProgramVariable.problemOfValue(name, variable.getValue()));
        }
        for (int i = 0; i < request.arguments().size(); i++) {
            String argument = request.arguments().get(i);
            check(
                    request,
                    "argument " + (i + 1),
                    argument,
                    ProgramVariable.problemOfString(argument, ProgramVariable.LONGEST_STRING));
        }
        checkCharacters(
                request, "the path of its entry point", request.executable().toString());
    }

    private static void check(LaunchRequest request, String what, String value, Optional<String> problem)
            throws ActuationFailure {
        if (problem.isPresent()) {
            throw refused(request, what + " " + problem.get());
        }
        checkCharacters(request, what, value);
    }

    /** Not fatal, because another locale helps. */
    private static void checkCharacters(LaunchRequest request, String what, String value) throws ActuationFailure {
        Optional<String> problem = SystemCharset.problem(value);
        if (problem.isPresent()) {
            throw new ActuationFailure(
                    FailureCause.Kind.ARGUMENTS,
                    request.instance().workload().brief() + " can't be launched: " + what + " " + problem.get(),
                    false);
        }
    }

    private static ActuationFailure refused(LaunchRequest request, String why) {
        return new ActuationFailure(
                FailureCause.Kind.ARGUMENTS,
                request.instance().workload().brief() + " can't be launched: " + why,
                true);
    }
}
