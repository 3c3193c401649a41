/** Reads documents into the records of the model, and writes their stored form, their JSON Schema and their explanation. */
@NullMarked
package io.homeostat.desired.yaml;

import org.jspecify.annotations.NullMarked;
