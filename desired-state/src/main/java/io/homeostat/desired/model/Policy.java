package io.homeostat.desired.model;

/**
 * What holds for every workload on this machine, whoever declares it.
 *
 * @param signaturesRequired whether an archive without a good signature may not be installed
 */
public record Policy(boolean signaturesRequired) {
    /** Where nothing is configured. */
    public static final Policy NONE = new Policy(false);

    public static Policy of(AgentConfig config) {
        return new Policy(config.signatures().require());
    }
}
