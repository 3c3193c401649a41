/** The expressions and templates of HCL 2 with its type system: values, conversions between types, parser and evaluator. */
@NullMarked
package io.homeostat.desired.hcl.language;

import org.jspecify.annotations.NullMarked;
