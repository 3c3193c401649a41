package io.homeostat.desired.state;

import io.homeostat.desired.model.SourceName;

/**
 * Why something that a source reads is not in force as it stands there.
 *
 * @param origin what could not be read, as in {@link StoredDeclaration#origin}
 * @param message where it is wrong and what would be right; no secrets in it
 */
public record SourceProblem(SourceName source, String origin, String message) {}
