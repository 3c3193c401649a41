package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.archive.SignatureCheck.SignaturePolicy;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.DesiredState.Policy;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.yaml.DocumentPlaces;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.DocumentReader.ReadWorkload;
import io.homeostat.desired.yaml.DocumentReader.Texts;
import io.homeostat.desired.yaml.Problem;
import java.util.List;

/** What an agent will refuse of documents for want of a good signature, as far as they show it without their archives. */
public final class SignatureProblems {
    private static final List<String> SOURCE = List.of("spec", "source");
    private static final List<String> SIGNATURE = List.of("spec", "source", "signature");

    private SignatureProblems() {}

    /**
     * Looks through the documents.
     *
     * @param config of that agent
     * @param texts of which the documents were read
     * @throws ActuationFailure when its keys can't be read, at which it does not start
     */
    public static ImmutableList<Problem> of(AgentConfig config, Texts texts, ReadResult read) throws ActuationFailure {
        Policy policy = Policy.of(config);
        SignaturePolicy signatures = SignaturePolicy.of(config.signatures());
        DocumentPlaces places = new DocumentPlaces(texts);
        ImmutableList.Builder<Problem> problems = ImmutableList.builder();
        for (ReadWorkload one : read.workloads()) {
            policy.refusal(one.workload()).ifPresent(words -> problems.add(places.problem(one, SOURCE, words)));
            Source source = one.workload().source();
            if (source != null) {
                signatures.refusal(source).ifPresent(words -> problems.add(places.problem(one, SIGNATURE, words)));
            }
        }
        return problems.build();
    }
}
